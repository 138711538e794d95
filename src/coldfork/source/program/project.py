"""Facts about the checked project, read from its own files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from coldfork.source.files.requirements import homes_of, required, table, toml_of
from coldfork.source.files.site_packages import DIST_INFO, text_of
from coldfork.source.files.started import command

if TYPE_CHECKING:
    from coldfork.model.observations import Faults


class Project(NamedTuple):
    """The facts stated in a project's own files."""

    required: frozenset[str] = frozenset()
    """Normalised names of the distributions that the project requires."""
    commands: tuple[str, ...] = ()
    """The functions that the project's commands call."""
    defaults_differ: bool = False
    """Whether the Python versions that the project supports have different default start methods."""


def read_project(roots: Iterable[str], tops: frozenset[str], faults: Faults) -> Project:
    """Return the project that these packages belong to; a file on which coldfork fails counts as empty."""
    folders = tuple(roots)
    return Project(
        faults.attempt(lambda: required(folders, tops), frozenset[str]()),
        faults.attempt(lambda: _commands(folders, tops), ()),
        faults.attempt(lambda: _defaults_differ(folders, tops), False),
    )


def _homes(roots: Iterable[str], tops: Iterable[str]) -> Iterable[Path]:
    return homes_of(Path(root, top) for root in roots for top in tops)


# -- the commands that a project installs -------------------------------------------------------------

_TARGET = re.compile(r"^([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)")


def _commands(roots: Iterable[str], tops: frozenset[str]) -> tuple[str, ...]:
    """Return the functions that installed commands of these packages call, each as the name of a program."""
    matches = (_TARGET.match(one.strip()) for folder in _homes(roots, tops) for one in _targets(folder))
    return tuple(sorted({command(found[1], found[2]) for found in matches if found is not None}))


def _targets(folder: Path) -> Iterator[str]:
    if DIST_INFO.match(folder.name):
        yield from _listed(_section(text_of(folder / "entry_points.txt"), "console_scripts"))
        return
    stated = _section(text_of(folder / "setup.cfg"), "options.entry_points")
    yield from _listed(stated.partition("console_scripts")[2])
    project, poetry = _tables(folder, "scripts")
    for commands in (table(project, "scripts"), table(poetry, "scripts")):
        yield from (target for target in commands.values() if isinstance(target, str))


def _section(text: str, name: str) -> str:
    """Return the lines under one `[heading]` of a file."""
    return re.split(r"^\[", text.partition(f"[{name}]")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _listed(text: str) -> Iterator[str]:
    """Yield the right-hand sides of lines such as `engine = engine.cli:main`."""
    for line in text.splitlines():
        _, equals, target = line.partition("=")
        if equals and not line.lstrip().startswith(("#", ";")):
            yield target


def _tables(folder: Path, word: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the tables `project` and `tool.poetry` of a `pyproject.toml`; empty if its text lacks a word."""
    text = text_of(folder / "pyproject.toml")
    document = toml_of(text) if word in text else {}
    return table(document, "project"), table(table(document, "tool"), "poetry")


# -- the supported versions of Python -----------------------------------------------------------------

#: The last Python version that forks by default, and the first one that does not.
_BOTH = ("3.13", "3.14")
_STATED = {
    "METADATA": re.compile(r"^Requires-Python:\s*(.+)$", re.MULTILINE),
    "PKG-INFO": re.compile(r"^Requires-Python:\s*(.+)$", re.MULTILINE),
    "setup.cfg": re.compile(r"^python_requires\s*=\s*(.+)$", re.MULTILINE),
    "setup.py": re.compile(r"""\bpython_requires\s*=\s*["']([^"']+)["']"""),
}
#: In Poetry's notation `^3.9` means 3.9 or any later 3.x, and `~3.9` only 3.9.
_POETRY = re.compile(r"([\^~])\s*(\d+)(?:\.(\d+))?[\d.]*(?=\s*(?:,|$))")


def _defaults_differ(roots: Iterable[str], tops: frozenset[str]) -> bool:
    """Return whether the Python versions that a project supports have different default start methods.

    The answer is False if the project does not state the versions that it supports.
    """
    stated = next((text for folder in _homes(roots, tops) for text in _supported(folder)), "")
    if not stated:
        return False
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(stated)
    except InvalidSpecifier:
        return False
    return all(version in allowed for version in _BOTH)


def _supported(folder: Path) -> Iterator[str]:
    """Yield the supported versions that each file of a folder states, the most authoritative file first."""
    if not DIST_INFO.match(folder.name):
        project, poetry = _tables(folder, "python")
        for stated in (project.get("requires-python"), table(poetry, "dependencies").get("python")):
            if isinstance(stated, str):
                yield _POETRY.sub(_range, stated)
    for name, pattern in _STATED.items():
        found = pattern.search(text_of(folder / name))
        if found is not None:
            yield found[1].strip()


def _range(found: re.Match[str]) -> str:
    major, minor = int(found[2]), int(found[3] or 0)
    above = f"{major + 1}" if found[1] == "^" or found[3] is None else f"{major}.{minor + 1}"
    return f">={major}.{minor},<{above}"
