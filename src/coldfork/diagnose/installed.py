"""Looks up files that a log names on this machine: the package's version, and the function of a line."""

from __future__ import annotations

import ast
import linecache
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from coldfork.model.diagnosis import Step
from coldfork.source.files.site_packages import normalised, versions

_FIELD = re.compile(r"^(Name|Version): *(\S+) *$", re.MULTILINE)


def environments_of(paths: Iterable[str]) -> tuple[Path, ...]:
    """Return the site-packages folders on this machine that contain any of these files."""
    found: dict[Path, None] = {}
    for path in paths:
        head, marker, _ = path.rpartition("-packages/")
        if marker and Path(path).is_file():
            found[Path(head + marker)] = None
    return tuple(found)


def version_of_source(folder: Path, distribution: str) -> str | None:
    """Return the version of a distribution, from a folder of its sources or installed files."""
    for place in (folder, folder.absolute().parent):
        installed = versions((place,)).get(normalised(distribution))
        if installed is not None:
            return installed
        for name, version in _said(place):
            if normalised(name) == normalised(distribution):
                return version
    return None


def _said(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and version of a source tree, first from PKG-INFO files, then from pyproject.toml."""
    for file in (folder / "PKG-INFO", *sorted(folder.glob("*.egg-info/PKG-INFO"))):
        fields = dict(_FIELD.findall(_text(file).partition("\n\n")[0]))
        if "Name" in fields and "Version" in fields:
            yield fields["Name"], fields["Version"]
    try:
        project = tomllib.loads(_text(folder / "pyproject.toml")).get("project")
    except tomllib.TOMLDecodeError:
        return
    if isinstance(project, dict) and isinstance(project.get("version"), str):
        yield str(project.get("name")), project["version"]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def step_at(path: str, line: int) -> Step | None:
    """Return a line, with the function or class whose body contains it; None if the file is not on this
    machine.
    """
    lines = linecache.getlines(path)
    if not 0 < line <= len(lines):
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    # `ast.walk` yields outer bodies first, so the last match is the innermost.
    around = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, _BODIES) and node.body[0].lineno <= line <= (node.end_lineno or line)
    ]
    return Step(path, around[-1] if around else "<module>", lines[line - 1].strip())
