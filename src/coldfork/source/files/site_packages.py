"""The Python environment whose third-party sources are read, found without running any of its code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from coldfork.model.errors import UsageError

_DIST_INFO = re.compile(r"^(.+?)-([^-]+)\.(?:dist-info|egg-info)$")


def search_path(python: Path | None, site_packages: Sequence[Path]) -> tuple[Path, ...]:
    """The folders to look for dependencies in, `.pth` files and editable installs followed."""
    if site_packages:
        for folder in site_packages:
            if not folder.is_dir():
                raise UsageError(f"--site-packages {folder}: no such folder")
        folders = list(site_packages)
    elif python is not None:
        folders = _folders_of(python)
    else:
        folders = _folders_of_default()
    found: list[Path] = []
    for folder in folders:
        for entry in (folder, *_mounted(folder)):
            if entry not in found:
                found.append(entry)
    return tuple(found)


def _folders_of(python: Path) -> list[Path]:
    """site-packages of an interpreter, found from where it lies: `bin/python` beside `lib/python3.x`."""
    if not python.exists():
        raise UsageError(f"--python {python}: no such file")
    if python.is_dir():
        prefixes = [python]
    else:
        prefixes = [python.absolute().parent.parent, python.resolve().parent.parent]
    for prefix in prefixes:
        found = _under_prefix(prefix)
        if found:
            return found
    raise UsageError(f"--python {python}: no site-packages folder beside it; name one with --site-packages")


def _under_prefix(prefix: Path) -> list[Path]:
    found: list[Path] = []
    for pattern in ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages"):
        for folder in sorted(prefix.glob(pattern)):
            if folder.is_dir() and folder.resolve() not in [f.resolve() for f in found]:
                found.append(folder)
    return found


def _folders_of_default() -> list[Path]:
    """The active or neighbouring virtual environment, else the one coldfork itself runs in."""
    active = os.environ.get("VIRTUAL_ENV")
    for prefix in ([Path(active)] if active else []) + [Path(".venv")]:
        found = _under_prefix(prefix)
        if found:
            return found
    return [Path(p) for p in sys.path if p.endswith(("site-packages", "dist-packages")) and os.path.isdir(p)]


def _mounted(folder: Path) -> list[Path]:
    """Folders that the `.pth` files of a site-packages folder add; lines that would run code are not run."""
    found = []
    for name in sorted(_names(folder)):
        if not name.endswith(".pth") or name.startswith("."):
            continue
        try:
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            line = line.strip()
            if not line or line.startswith(("#", "import ", "import\t")):
                continue
            entry = folder / line
            if entry.is_dir():
                found.append(entry)
    found += _editable_finders(folder)
    return found


_MAPPING = re.compile(r"^MAPPING\b[^=]*=\s*(\{.*?\})\s*$", re.MULTILINE | re.DOTALL)


def _editable_finders(folder: Path) -> list[Path]:
    """Parents of packages that setuptools' editable finders map, read as data."""
    found = []
    for name in _names(folder):
        if not (name.startswith("__editable___") and name.endswith("_finder.py")):
            continue
        try:
            matched = _MAPPING.search((folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        if matched is None:
            continue
        import ast

        try:
            mapping = ast.literal_eval(matched.group(1))
        except (ValueError, SyntaxError):
            continue
        if isinstance(mapping, dict):
            found += [Path(path).parent for path in mapping.values() if isinstance(path, str)]
    return found


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def versions(search: Sequence[Path]) -> dict[str, str]:
    """Installed distributions by normalised name, known from their metadata folders' names."""
    found: dict[str, str] = {}
    for folder in search:
        for name in _names(folder):
            matched = _DIST_INFO.match(name)
            if matched is not None:
                found.setdefault(re.sub(r"[-_.]+", "-", matched.group(1)).lower(), matched.group(2))
    return found


class Distributions:
    """What the metadata of installed distributions says."""

    def __init__(self, search: Sequence[Path]) -> None:
        self._search = tuple(search)
        self.versions = versions(search)
        self._entry_points: dict[str, list[tuple[str, str]]] | None = None

    def entry_points(self, group: str) -> tuple[tuple[str, str], ...]:
        """Name and target of every entry point of a group."""
        if self._entry_points is None:
            self._entry_points = {}
            for folder in self._search:
                for name in sorted(_names(folder)):
                    matched = _DIST_INFO.match(name)
                    # Ours wake nothing and claim nothing: what is said must not depend on our being there.
                    if matched is not None and matched.group(1) != "coldfork":
                        self._read(folder / name / "entry_points.txt")
        return tuple(self._entry_points.get(group, ()))

    def _read(self, file: Path) -> None:
        assert self._entry_points is not None
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        group = ""
        for line in lines:
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                group = line[1:-1].strip()
            elif "=" in line and not line.startswith(("#", ";")):
                name, _, target = line.partition("=")
                self._entry_points.setdefault(group, []).append((name.strip(), target.strip()))
