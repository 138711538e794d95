"""The Pythons that a project says it supports, by its own files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coldfork.source.files.requirements import homes_of, table
from coldfork.source.files.site_packages import DIST_INFO, text_of

#: The last Python that forks processes by default, and the first that does not.
_BOTH = ("3.13", "3.14")
_STATED = {
    "METADATA": re.compile(r"^Requires-Python:\s*(.+)$", re.MULTILINE),
    "PKG-INFO": re.compile(r"^Requires-Python:\s*(.+)$", re.MULTILINE),
    "setup.cfg": re.compile(r"^python_requires\s*=\s*(.+)$", re.MULTILINE),
    "setup.py": re.compile(r"""\bpython_requires\s*=\s*["']([^"']+)["']"""),
}


def defaults_differ(roots: Iterable[str], packages: Iterable[str]) -> bool:
    """Whether a project supports Pythons that start processes by different methods where none is stated.

    False where it does not say which Pythons it supports. `roots` are the folders that hold the packages.
    """
    tops = tuple(packages)
    stated = (
        text for folder in homes_of(Path(root, top) for root in roots for top in tops) for text in _of(folder)
    )
    return _allows_both(next(stated, ""))


def _of(folder: Path) -> Iterator[str]:
    """What the files of one folder state, the one that speaks loudest first."""
    if not DIST_INFO.match(folder.name):
        yield from _in_pyproject(text_of(folder / "pyproject.toml"))
    for name, pattern in _STATED.items():
        found = pattern.search(text_of(folder / name))
        if found is not None:
            yield found[1].strip()


def _in_pyproject(text: str) -> Iterator[str]:
    if "python" not in text:
        return
    import tomllib

    try:
        document: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    poetry = table(table(table(document, "tool"), "poetry"), "dependencies")
    for stated in (table(document, "project").get("requires-python"), poetry.get("python")):
        if isinstance(stated, str):
            yield _POETRY.sub(_range, stated)


#: Poetry's `^3.9` means any of the 3s from there on, its `~3.9` only that one.
_POETRY = re.compile(r"([\^~])\s*(\d+)(?:\.(\d+))?[\d.]*(?=\s*(?:,|$))")


def _range(found: re.Match[str]) -> str:
    major, minor = int(found[2]), int(found[3] or 0)
    above = f"{major + 1}" if found[1] == "^" or found[3] is None else f"{major}.{minor + 1}"
    return f">={major}.{minor},<{above}"


def _allows_both(stated: str) -> bool:
    if not stated:
        return False
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(stated)
    except InvalidSpecifier:
        return False
    return all(version in allowed for version in _BOTH)
