"""HTML that cannot be broken into: what is not markup of our own making is always escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from coldfork.report.shared.characters import printable

_VOID = frozenset({"meta", "link", "input", "br"})


class Markup(str):
    """Text that is HTML already; everything else is foreign and gets escaped."""

    __slots__ = ()


def text(foreign: str) -> Markup:
    """Foreign text as it may stand in a page: escaped, and without characters that nobody can see."""
    return Markup(escape(printable(foreign), quote=True))


def element(name: str, /, *children: str | None, **attributes: str | int | float | bool | None) -> Markup:
    """An element; children that are no markup are escaped, attributes that are None or False left out.

    `class_` stands for `class`, and an underscore inside a name for a hyphen: `aria_label`.
    """
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Markup(opening)
    inside = "".join(_safe(child) for child in children if child is not None)
    return Markup(f"{opening}{inside}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Several pieces of markup or text one after another."""
    return Markup(_safe(between).join(_safe(part) for part in parts))


def _safe(child: str) -> str:
    return child if isinstance(child, Markup) else text(child)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'
