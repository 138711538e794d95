"""The commands that projects and wheels install, by their own files: which function each of them calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coldfork.source.files.requirements import homes_of, table
from coldfork.source.files.site_packages import DIST_INFO, text_of
from coldfork.source.files.started import command

_TARGET = re.compile(r"^([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)")


def console_scripts(roots: Iterable[str], packages: Iterable[str]) -> tuple[str, ...]:
    """The functions that the commands of these packages call, each as the name of a program.

    `roots` are the folders that hold the packages.
    """
    tops = tuple(packages)
    paths = (Path(root, top) for root in roots for top in tops)
    targets = (target for folder in homes_of(paths) for target in _targets(folder))
    matches = (_TARGET.match(target.strip()) for target in targets)
    return tuple(sorted({command(found[1], found[2]) for found in matches if found is not None}))


def _targets(folder: Path) -> Iterator[str]:
    if DIST_INFO.match(folder.name):
        yield from _listed(_section(text_of(folder / "entry_points.txt"), "console_scripts"))
        return
    stated = _section(text_of(folder / "setup.cfg"), "options.entry_points")
    yield from _listed(stated.partition("console_scripts")[2])
    yield from _in_pyproject(text_of(folder / "pyproject.toml"))


def _section(text: str, name: str) -> str:
    """The lines of one section of a file with headings in brackets."""
    return re.split(r"^\[", text.partition(f"[{name}]")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _listed(text: str) -> Iterator[str]:
    """The right sides of lines such as `engine = engine.cli:main`."""
    for line in text.splitlines():
        _, equals, target = line.partition("=")
        if equals and not line.lstrip().startswith(("#", ";")):
            yield target


def _in_pyproject(text: str) -> Iterator[str]:
    """The commands in the project's table and in Poetry's."""
    if "scripts" not in text:
        return
    import tomllib

    try:
        document: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    poetry = table(table(document, "tool"), "poetry")
    for commands in (table(table(document, "project"), "scripts"), table(poetry, "scripts")):
        yield from (target for target in commands.values() if isinstance(target, str))
