"""What the checked project requires, extras left out, as its metadata says: names of distributions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from configparser import ConfigParser, Error
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from coldfork.source.files.site_packages import DIST_INFO, names_in, normalised

_MOST_PARENTS = 2
"""How far above a package its project may lie: `src/package`, `python/package`."""


def required(roots: Iterable[str], packages: Iterable[str]) -> frozenset[str]:
    """Normalised names of the distributions that the projects of these packages require.

    `roots` are the folders that hold the packages.
    """
    names = {normalised(package) for package in packages}
    return frozenset(
        normalised(requirement.name)
        for root in roots
        for text in _stated(Path(root), names)
        if (requirement := _parsed(text)) is not None and not _only_extra(requirement)
    )


def _stated(root: Path, packages: set[str]) -> Iterator[str]:
    """The requirements of the project around a folder, and of installed distributions that are checked."""
    for entry in names_in(root):
        matched = DIST_INFO.match(entry)
        if matched is not None and normalised(matched.group(1)) in packages:
            yield from _of_metadata(root / entry / "METADATA")
    for folder in (root, *root.parents)[: _MOST_PARENTS + 1]:
        names = names_in(folder)
        if "pyproject.toml" in names:
            yield from _of_pyproject(folder / "pyproject.toml")
        if "setup.cfg" in names:
            yield from _of_setup_cfg(folder / "setup.cfg")
        if "PKG-INFO" in names:
            yield from _of_metadata(folder / "PKG-INFO")
        if names and not {"pyproject.toml", "setup.cfg", "setup.py", "PKG-INFO"}.isdisjoint(names):
            return


def _of_pyproject(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as opened:
            project = tomllib.load(opened).get("project", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return
    stated = project.get("dependencies", []) if isinstance(project, dict) else []
    yield from (text for text in stated if isinstance(text, str)) if isinstance(stated, list) else ()


def _of_setup_cfg(file: Path) -> Iterator[str]:
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(file, encoding="utf-8")
        yield from parser.get("options", "install_requires", fallback="").splitlines()
    except (Error, OSError, UnicodeDecodeError):
        return


def _of_metadata(file: Path) -> Iterator[str]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if not line:
            return  # the description follows
        field, _, value = line.partition(":")
        if field == "Requires-Dist":
            yield value


def _parsed(text: str) -> Requirement | None:
    try:
        return Requirement(text.strip())
    except InvalidRequirement:
        return None


def _only_extra(requirement: Requirement) -> bool:
    """True for what is installed only where an extra is asked for, or not on this machine."""
    return requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
