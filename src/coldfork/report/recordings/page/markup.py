"""Builds HTML that is safe from injection, and pages that may use only their own style and script.

Everything except our own markup is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files

from coldfork.report.shared.characters import printable

_VOID = frozenset({"meta", "link", "input", "br"})


class Markup(str):
    """Text that is already safe HTML; any other text gets escaped."""

    __slots__ = ()


def text(foreign: str) -> Markup:
    """Return foreign text for use in a page: escaped, and without invisible characters."""
    return Markup(escape(printable(foreign), quote=True))


def element(name: str, /, *children: str | None, **attributes: str | int | float | bool | None) -> Markup:
    """Return an element; text children are escaped, and attributes that are None or False are omitted.

    `class_` stands for `class`, and an underscore inside a name for a hyphen, as in `aria_label`.
    """
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Markup(opening)
    inside = "".join(_safe(child) for child in children if child is not None)
    return Markup(f"{opening}{inside}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Return several pieces of markup or text, joined into one."""
    return Markup(_safe(between).join(_safe(part) for part in parts))


def _safe(child: str) -> str:
    return child if isinstance(child, Markup) else text(child)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def page(title: str, body: Markup, data: object = None) -> str:
    """Return a complete HTML document; `data` is embedded for its script."""
    style, script = _asset("recording.css"), _asset("recording.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(style)),
    )
    content = element(
        "body",
        body,
        element("script", _embedded(data), type="application/json", id="data"),
        element("script", Markup(script)),
    )
    return f"<!doctype html>\n{element('html', head, Markup(chr(10)), content, lang='en')}\n"


def masthead(*facts: str) -> Markup:
    """Return the top line of the page: the tool's name, facts about the recording, and the dark mode
    switch.
    """
    switch = element("button", "Dark", id="theme", type="button", hidden=True)
    about = join((element("span", fact) for fact in facts if fact), " ")
    return element("header", element("p", element("b", "coldfork"), " ", about), switch, class_="masthead")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _embedded(data: object) -> Markup:
    """Return JSON that cannot end the HTML element that contains it."""
    written = json.dumps(data, separators=(",", ":"))
    return Markup(written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def _asset(name: str) -> str:
    content = files("coldfork.report").joinpath("assets", name).read_text(encoding="utf-8")
    return content.replace("\r\n", "\n")
