"""Finds the modules under the paths of the command line: packages, src layouts, namespaces, plain files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from coldfork.model.errors import UsageError
from coldfork.model.observations import Faults, LeftOut
from coldfork.source.files.finder import Namespaces
from coldfork.source.files.reading import SOURCES, Reader, refusal

_SKIPPED = frozenset({
    "__pycache__", "node_modules", "build", "dist", "venv", "env", "site-packages", ".venv",
    "__pypackages__",
})  # fmt: skip
_NEVER_MEANT = frozenset({"__pycache__", ".git", ".ipynb_checkpoints"})
_NAMESPACE_PARENTS = frozenset({"src", "lib", "python"})
_MOST_LOOKED_AT = 40
"""At most this many skipped folders are searched to count the files that are not checked."""


class Found(NamedTuple):
    """The checked modules: files by name, the folders with top-level packages, and files that are not
    modules.
    """

    files: dict[str, str]
    roots: tuple[str, ...]
    broken: tuple[tuple[str, str], ...]
    display: dict[str, str]
    """The paths of plain files for reports, by module name; any other path follows from the module's name."""
    scripts: tuple[str, ...] = ()
    """The plain files named on the command line; files beside them that they import are checked too."""
    left_out: tuple[LeftOut, ...] = ()

    def beside(self) -> dict[str, dict[str, str]]:
        """Return, for each plain file, the plain files in its folder, by the names under which it can import
        them.
        """
        folders: dict[str, dict[str, str]] = {}
        for name in self.display:
            folder, file = os.path.split(self.files[name])
            folders.setdefault(folder, {})[file.removesuffix(".py")] = name
        return {name: folders[os.path.dirname(self.files[name])] for name in self.display}


class _Search:
    """One search of the paths."""

    def __init__(
        self, excluded: Callable[[str], bool], reader: Reader, base: str | None, faults: Faults
    ) -> None:
        self.excluded = excluded
        self.reader = reader
        self.faults = faults
        self.base = base
        """The folder that holds all top packages, if one was named."""
        self.namespaces = Namespaces(reader)
        self.files: dict[str, str] = {}
        self.roots: list[str] = []
        self.broken: list[tuple[str, str]] = []
        self.display: dict[str, str] = {}
        self.tops: set[str] = set()
        """The folders whose files are top-level modules: those that were given, and those with programs or
        packages.
        """
        self.scripts: list[str] = []
        self.left_out: list[LeftOut] = []
        self.seen: set[str] = set()

    def add_root(self, folder: str) -> None:
        """Add a folder that contains top-level modules."""
        if folder not in self.roots:
            self.roots.append(folder)

    def enter(self, folder: str) -> bool:
        """Return True the first time that a folder is reached, even if links lead to it."""
        real = os.path.realpath(folder)
        if real in self.seen:
            return False
        self.seen.add(real)
        return True

    def package(self, folder: str, name: str) -> None:
        """Add all modules of a package, including those in folders without `__init__`."""
        if not self.enter(folder):
            return
        shown = name.replace(".", "/")
        for entry, is_folder in self.entries(folder):
            look = partial(self._in_package, name, folder, entry, is_folder)
            self.faults.attempt(look, None, path=f"{shown}/{entry}")

    def _in_package(self, name: str, folder: str, entry: str, is_folder: bool) -> None:
        inner, shown = f"{folder}/{entry}", f"{name.replace('.', '/')}/{entry}"
        if is_folder:
            if not entry.isidentifier() or (entry in _SKIPPED and not self._is_package(inner)):
                self.pass_over(inner, shown)
            else:
                self.package(inner, f"{name}.{entry}")
        elif entry == "__init__.py":
            self.add(name, inner)
        elif entry.endswith(".py") and entry[:-3].isidentifier():
            self.add(f"{name}.{entry[:-3]}", inner)
        else:
            self.plain(inner, shown)

    def add(self, name: str, path: str) -> None:
        """Add a module, unless another module already has the name."""
        held = self.files.setdefault(name, path)
        if held != path and os.path.realpath(held) != os.path.realpath(path):
            other = os.path.relpath(held)
            self.left_out.append(LeftOut(os.path.relpath(path), 1, f"{other} is checked as {name}"))

    def folder(self, folder: str, shown: str) -> None:
        """Add a folder that is not a package: packages in it are top-level packages, its files are plain
        files.
        """
        if not self.enter(folder):
            return
        entries = list(self.entries(folder))
        namespace = os.path.basename(folder) in _NAMESPACE_PARENTS
        if namespace or any(
            is_folder and self._is_package(f"{folder}/{name}") for name, is_folder in entries
        ):
            self.tops.add(folder)
        for entry, is_folder in entries:
            displayed = f"{shown}/{entry}" if shown else entry
            look = partial(self._in_folder, folder, entry, is_folder, displayed, namespace)
            self.faults.attempt(look, None, path=displayed)

    def _in_folder(self, folder: str, entry: str, is_folder: bool, displayed: str, namespace: bool) -> None:
        inner = f"{folder}/{entry}"
        if not is_folder:
            self.plain(inner, displayed)
        elif self._is_package(inner) and entry.isidentifier():
            self.add_root(folder)
            self.package(inner, entry)
        elif entry in _SKIPPED or entry.startswith(".") or entry.endswith((".egg-info", ".dist-info")):
            self.pass_over(inner, displayed)
        elif (namespace and entry.isidentifier()) or self.namespaces.is_package(inner):
            self.add_root(folder)
            self.package(inner, entry)
        else:
            self.folder(inner, displayed)

    def _is_package(self, folder: str) -> bool:
        return self.reader.is_file(f"{folder}/__init__.py")

    def pass_over(self, folder: str, shown: str) -> None:
        """Record the number of Python files in a folder that is skipped."""
        if os.path.basename(folder) in _NEVER_MEANT:
            return
        count = 0
        for _, folders, names in islice(os.walk(folder), _MOST_LOOKED_AT):
            folders[:] = [name for name in folders if name not in _NEVER_MEANT]
            count += sum(name.endswith(SOURCES) for name in names)
        if count:
            self.left_out.append(LeftOut(shown, count))

    def plain(self, path: str, shown: str) -> str | None:
        """Add a file outside any package; return its name, or None if it is already known."""
        if not self.enter(path):
            return None
        folder, file = os.path.split(path)
        stem, suffix = os.path.splitext(file)
        is_module = suffix == ".py" and stem.isidentifier()
        is_top = folder in self.tops and stem not in self.files
        # A file that only files in the same folder can import is named by its path, which no import can
        # spell.
        name = shown if not is_module else stem if is_top else shown.removesuffix(".py")
        if name not in self.files:
            self.files[name] = path
            self.display[name] = shown
        return name

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        """Yield the Python files and folders in `folder`, sorted by name; record broken links and unreadable
        folders.
        """
        overlaid = self.reader.overlaid_in(folder)
        for name, is_folder in sorted(overlaid.items()):
            if (is_folder or name.endswith(SOURCES)) and not self.excluded(f"{folder}/{name}"):
                yield name, is_folder
        try:
            with os.scandir(folder) as scanned:
                found = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            if not overlaid:
                self.broken.append((folder, (error.strerror or str(error)).lower()))
            return
        for entry in found:
            if entry.name in overlaid or self.excluded(entry.path):
                continue
            try:
                is_folder = entry.is_dir()
                is_file = not is_folder and entry.name.endswith(SOURCES) and entry.is_file()
            except OSError as error:
                self.broken.append((entry.path, (error.strerror or str(error)).lower()))
                continue
            if is_folder or is_file:
                yield entry.name, is_folder
            elif entry.name.endswith(SOURCES) and entry.is_symlink():
                self.broken.append((entry.path, "a broken link"))

    def package_of(self, folder: str) -> tuple[str, str] | None:
        """Return the folder with the top-level package, and the dotted name of `folder`; None outside any
        package.
        """
        if self.base is not None:
            inside = os.path.relpath(folder, self.base)
            parts = inside.split(os.sep)
            if all(part.isidentifier() for part in parts):
                return self.base, ".".join(parts)
        top = folder
        while self._is_package(top) and os.path.dirname(top) != top:
            top = os.path.dirname(top)
        root = self.namespaces.root_above(top) or top
        return (root, os.path.relpath(folder, root).replace(os.sep, ".")) if root != folder else None

    def single(self, path: str, shown: str) -> None:
        """Add a file named on the command line: as a module of its package, or as a plain file outside any
        package.
        """
        folder, file = os.path.split(path)
        stem, suffix = os.path.splitext(file)
        is_module = suffix == ".py" and stem.isidentifier()
        look = partial(self.package_of, folder)
        within = self.faults.attempt(look, None, path=shown) if is_module else None
        if within is not None:
            root, package = within
            self.add_root(root)
            self.add(package if stem == "__init__" else f"{package}.{stem}", path)
            return
        self.tops.add(folder)
        name = self.plain(path, _portable(path, shown))
        if name is not None:
            self.scripts.append(name)


def discover(
    paths: Sequence[Path],
    excluded: Callable[[str], bool] = lambda path: False,
    reader: Reader | None = None,
    base: str | None = None,
    faults: Faults | None = None,
) -> Found:
    """Return all modules under the paths; a file that is reached in several ways counts once."""
    reader = reader or Reader()
    search = _Search(excluded, reader, base, faults or Faults())
    bare: list[str] = []
    for path in paths:
        absolute = os.path.abspath(path)
        if reader.is_folder(absolute):
            within = search.faults.attempt(partial(search.package_of, absolute), None, path=str(path))
            if within is not None:
                root, name = within
                search.add_root(root)
                search.package(absolute, name)
            else:
                bare.append(absolute)
                search.tops.add(absolute)
                search.folder(absolute, "")
        elif reader.is_overlaid(absolute) or os.path.exists(absolute):
            reason = refusal(absolute, reader)
            if reason is not None:
                raise UsageError(f"{path}: {reason}")
            search.single(absolute, str(path))
        elif os.path.islink(absolute):
            raise UsageError(f"{path}: a broken link")
        else:
            raise UsageError(f"{path}: no such file or folder")
    for name in search.scripts:  # Python adds a program's folder to its path
        search.add_root(os.path.dirname(search.files[name]))
    for absolute in bare:  # last, because a folder below a given one may be a namespace package
        search.add_root(absolute)
    roots, broken = tuple(search.roots), tuple(search.broken)
    return Found(search.files, roots, broken, search.display, tuple(search.scripts), tuple(search.left_out))


def _portable(path: str, shown: str) -> str:
    """Return a plain file's path for reports: as it was given, unless that would differ between two
    clones.
    """
    given = shown.replace(os.sep, "/")
    if not os.path.isabs(shown) and os.pardir not in given.split("/"):
        return given.removeprefix("./")
    inside = os.path.relpath(path)
    return os.path.basename(path) if inside.startswith(os.pardir) else inside.replace(os.sep, "/")
