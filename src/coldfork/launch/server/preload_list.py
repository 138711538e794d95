"""The file that lists modules to preload: `coldfork preload` writes it, and a zygote reads it.

It is TOML that a person can read and change: `modules` in the order of their import; `wanted`, the modules
that the list was made for; under `variables`, the variables that were read during the imports, each with its
reader; and in `seeds`, the generators that each worker seeds besides the usual ones.
"""

from __future__ import annotations

import os

from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

ENDING = ".toml"
_KEYS = ("wanted", "modules", "seeds", "variables")


class PreloadList:
    """The content of a preload list: modules, and how they were found."""

    def __init__(
        self,
        modules: Iterable[str],
        wanted: Iterable[str] = (),
        variables: Mapping[str, str] | None = None,
        seeds: Iterable[str] = (),
    ) -> None:
        self.modules: tuple[str, ...] = tuple(modules)
        self.wanted: tuple[str, ...] = tuple(wanted)
        self.variables: dict[str, str] = dict(variables or {})
        """The variables that were read during the imports, each with the module that read it."""
        self.seeds: tuple[str, ...] = tuple(seeds)


def read(path: str | os.PathLike[str]) -> PreloadList:
    """Read a preload list from a file; raise `UsageError` if the file is wrong."""
    import tomllib

    spoken = os.fspath(path)
    try:
        with open(path, "rb") as stream:
            document = tomllib.load(stream)
    except OSError as error:
        raise UsageError(f"cannot read {spoken}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{spoken} is not valid TOML: {error}") from None
    unknown = next((key for key in document if key not in _KEYS), None)
    if unknown is not None:
        raise UsageError(f"{spoken}: unknown key {unknown!r}; known are {', '.join(_KEYS)}")
    if "modules" not in document:
        raise UsageError(f"{spoken} has no list `modules`; coldfork preload --output writes one")
    variables = document.get("variables", {})
    if not isinstance(variables, dict) or not all(isinstance(one, str) for one in variables.values()):
        raise UsageError(f"{spoken}: `variables` has to name a module for each variable")
    return PreloadList(
        _names(document["modules"], "modules", spoken),
        _names(document.get("wanted", []), "wanted", spoken),
        variables,
        _seeds(document.get("seeds", []), spoken),
    )


def _names(value: Any, key: str, spoken: str) -> list[str]:
    if not isinstance(value, list) or not all(_is_module(one) for one in value):
        raise UsageError(f"{spoken}: `{key}` has to be a list of modules, each by its dotted name")
    return value


def _seeds(value: Any, spoken: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) and ":" in one for one in value):
        raise UsageError(f"{spoken}: `seeds` has to be a list of names such as random:_inst")
    return value


def _is_module(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() for part in name.split("."))


def write(listed: PreloadList, head: Iterable[str] = (), foot: Iterable[str] = ()) -> str:
    """Return the text of a preload list, with `head` and `foot` as comments around its content."""
    lines = [*_comments(head), *_list("wanted", listed.wanted), "", *_list("modules", listed.modules)]
    if listed.seeds:
        lines += ["", "# Seeded anew in each worker.", *_list("seeds", listed.seeds)]
    if listed.variables:
        lines += [
            "",
            "# Read during these imports: if one of them changes, another server is started.",
        ]
        lines += ["[variables]"]
        lines += [f"{_text(name)} = {_text(by)}" for name, by in sorted(listed.variables.items())]
    below = _comments(foot)
    return "\n".join([*lines, *(["", *below] if below else [])]) + "\n"


def _list(key: str, names: Iterable[str]) -> list[str]:
    return [f"{key} = [", *(f"    {_text(name)}," for name in names), "]"]


def _comments(lines: Iterable[str]) -> list[str]:
    return [f"# {''.join(c if c.isprintable() else ' ' for c in line)}".rstrip() for line in lines]


def _text(value: str) -> str:
    escaped = "".join(
        c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else "?"
        for c in value
    )
    return f'"{escaped}"'
