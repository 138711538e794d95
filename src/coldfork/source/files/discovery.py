"""From the paths on the command line to modules: packages, src layouts, namespaces, plain files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from coldfork.model.errors import UsageError
from coldfork.source.files.reading import Reader

_SKIPPED = frozenset(
    {
        "__pycache__",
        "node_modules",
        "build",
        "dist",
        "venv",
        "env",
        "site-packages",
        ".venv",
        "__pypackages__",
    }
)
_NAMESPACE_PARENTS = frozenset({"src", "lib", "python"})


class Found(NamedTuple):
    """The checked modules: files by name, the folders that hold top packages, and what is no module."""

    files: dict[str, str]
    roots: tuple[str, ...]
    broken: tuple[tuple[str, str], ...]
    display: dict[str, str]
    """The paths of plain files as reports show them, by module name; other paths follow from the name."""


class _Search:
    """One walk over the paths."""

    def __init__(self, excluded: Callable[[str], bool], reader: Reader) -> None:
        self.excluded = excluded
        self.reader = reader
        self.files: dict[str, str] = {}
        self.roots: list[str] = []
        self.broken: list[tuple[str, str]] = []
        self.display: dict[str, str] = {}
        self.seen: set[str] = set()

    def add_root(self, folder: str) -> None:
        """Remember a folder that holds top-level modules."""
        if folder not in self.roots:
            self.roots.append(folder)

    def enter(self, folder: str) -> bool:
        """True the first time a folder is met, whatever links lead to it."""
        real = os.path.realpath(folder)
        if real in self.seen:
            return False
        self.seen.add(real)
        return True

    def package(self, folder: str, name: str) -> None:
        """Everything inside a package, folders without `__init__` included."""
        if not self.enter(folder):
            return
        for entry, is_folder in self.entries(folder):
            inner = f"{folder}/{entry}"
            if is_folder:
                if entry.isidentifier() and entry not in _SKIPPED:
                    self.package(inner, f"{name}.{entry}")
            elif entry == "__init__.py":
                self.files.setdefault(name, inner)
            elif entry[:-3].isidentifier():
                self.files.setdefault(f"{name}.{entry[:-3]}", inner)
            else:
                self.plain(inner, inner)

    def folder(self, folder: str, shown: str) -> None:
        """A folder that is no package: its packages are top packages, its files plain modules."""
        if not self.enter(folder):
            return
        entries = list(self.entries(folder))
        namespace = os.path.basename(folder) in _NAMESPACE_PARENTS
        for entry, is_folder in entries:
            inner = f"{folder}/{entry}"
            displayed = f"{shown}/{entry}" if shown else entry
            if not is_folder:
                self.plain(inner, displayed)
            elif self.reader.is_file(f"{inner}/__init__.py") and entry.isidentifier():
                self.add_root(folder)
                self.package(inner, entry)
            elif entry in _SKIPPED or entry.startswith(".") or entry.endswith(".egg-info"):
                continue
            elif namespace and entry.isidentifier():
                self.add_root(folder)
                self.package(inner, entry)
            else:
                self.folder(inner, displayed)

    def plain(self, path: str, shown: str) -> None:
        """A file outside any package."""
        if not self.enter(path):
            return
        stem = os.path.basename(path)[:-3]
        name = stem if stem.isidentifier() and stem not in self.files else shown
        if name in self.files:
            return
        self.files[name] = path
        self.display[name] = shown

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        """Python files and folders in `folder`, by name; broken links and unreadable folders are noted."""
        overlaid = self.reader.overlaid_in(folder)
        for name, is_folder in sorted(overlaid.items()):
            if (is_folder or name.endswith(".py")) and not self.excluded(f"{folder}/{name}"):
                yield name, is_folder
        try:
            with os.scandir(folder) as scanned:
                found = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            if not overlaid:
                self.broken.append((folder, (error.strerror or str(error)).lower()))
            return
        for entry in found:
            if entry.name in overlaid:
                continue
            if self.excluded(entry.path):
                continue
            try:
                is_folder = entry.is_dir()
                is_file = not is_folder and entry.name.endswith(".py") and entry.is_file()
            except OSError as error:
                self.broken.append((entry.path, (error.strerror or str(error)).lower()))
                continue
            if is_folder or is_file:
                yield entry.name, is_folder
            elif entry.name.endswith(".py") and entry.is_symlink():
                self.broken.append((entry.path, "a link that leads nowhere"))


def discover(
    paths: Sequence[Path],
    excluded: Callable[[str], bool] = lambda path: False,
    reader: Reader | None = None,
) -> Found:
    """Find every module under the paths; overlapping paths and links to the same file count once."""
    reader = reader or Reader()
    search = _Search(excluded, reader)
    for path in paths:
        absolute = os.path.abspath(path)
        if reader.is_folder(absolute):
            if reader.is_file(f"{absolute}/__init__.py"):
                root, name = _package_of(absolute, reader)
                search.add_root(root)
                search.package(absolute, name)
            else:
                search.folder(absolute, "")
        elif reader.is_file(absolute):
            _single(search, absolute, str(path))
        elif os.path.islink(absolute):
            raise UsageError(f"{path}: a link that leads nowhere")
        else:
            raise UsageError(f"{path}: no such file or folder")
    for path in paths:  # last of all: a bare folder under a given one may be a namespace package
        absolute = os.path.abspath(path)
        if reader.is_folder(absolute) and not reader.is_file(f"{absolute}/__init__.py"):
            search.add_root(os.path.abspath(path))
    return Found(search.files, tuple(search.roots), tuple(search.broken), search.display)


def _single(search: _Search, path: str, shown: str) -> None:
    """A file named on the command line: as a member of its package if it is in one."""
    folder = os.path.dirname(path)
    if search.reader.is_file(f"{folder}/__init__.py"):
        root, package = _package_of(folder, search.reader)
        search.add_root(root)
        stem = os.path.basename(path).removesuffix(".py")
        name = package if stem == "__init__" else f"{package}.{stem}"
        search.files.setdefault(name, path)
    else:
        search.plain(path, shown.replace(os.sep, "/"))


def _package_of(folder: str, reader: Reader) -> tuple[str, str]:
    """The folder that holds the top package, and the dotted name of `folder`."""
    parts: list[str] = []
    current = folder
    while reader.is_file(f"{current}/__init__.py"):
        parts.append(os.path.basename(current))
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    return current, ".".join(reversed(parts))
