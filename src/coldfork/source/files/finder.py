"""Finds the file of a module as Python's import system does, and packages without `__init__`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from coldfork.source.files.reading import CannotRead, Reader
from coldfork.source.files.started import imported, is_started

_COMPILED = (".so", ".pyd", ".dylib")
#: Modules that are not read, because coldfork models them: the standard library, and `typing_extensions`.
_STANDARD = sys.stdlib_module_names | {"typing_extensions"}


class Located(NamedTuple):
    """The location of a module: `path` is None for a namespace package or a compiled module."""

    path: str | None
    is_package: bool
    folders: tuple[str, ...]
    own: bool
    compiled: bool = False


class Finder:
    """Finds modules: first in the checked roots, then in the folders of the dependencies."""

    def __init__(
        self,
        roots: Sequence[str],
        search: Sequence[str],
        plain: dict[str, str] | None = None,
        reader: Reader | None = None,
        beside: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ) -> None:
        self._reader = reader or Reader()
        self.beside = beside
        """For each module outside any package, the modules in its folder by the names under which it can
        import them.
        """
        self._roots = tuple(roots)
        self._search = tuple(search)
        self._listings: dict[str, frozenset[str]] = {}
        self._compiled: dict[str, frozenset[str]] = {}
        self._found: dict[str, Located | None] = {}
        for name, path in (plain or {}).items():
            is_package = path.endswith("__init__.py")
            folders = (os.path.dirname(path),) if is_package else ()
            self._found[name] = Located(path, is_package, folders, True)

    def names_in(self, folder: str) -> frozenset[str]:
        """Return the names in a folder; empty when it cannot be read."""
        names = self._listings.get(folder)
        if names is None:
            names = self._listings[folder] = self._reader.names_in(folder)
        return names

    def _compiled_in(self, folder: str) -> frozenset[str]:
        """Return the names of the compiled modules in a folder."""
        stems = self._compiled.get(folder)
        if stems is None:
            stems = frozenset(n.partition(".")[0] for n in self.names_in(folder) if n.endswith(_COMPILED))
            self._compiled[folder] = stems
        return stems

    def find(self, module: str) -> Located | None:
        """Return the location of `module`; None if there is none."""
        try:
            return self._found[module]
        except KeyError:
            pass
        if ":" in module and is_started(module):
            return self.find(imported(module))
        parent, _, name = module.rpartition(".")
        found: Located | None = None
        if parent:
            above = self.find(parent)
            if above is not None and above.folders:
                found = self._in(above.folders, name, above.own)
        elif name:
            found = self._in(self._roots, name, True)
            if found is None and name not in _STANDARD:
                found = self._in(self._search, name, False)
            elif found is not None and found.path is None and not found.compiled:
                # A checked folder without `__init__` is only part of a namespace: a real package elsewhere
                # has precedence.
                real = self._in(self._search, name, False) if name not in _STANDARD else None
                if name in _STANDARD:
                    found = None
                elif real is not None and real.path is not None:
                    found = real
                elif real is not None:
                    found = Located(None, True, (*found.folders, *real.folders), True)
        self._found[module] = found
        return found

    def _in(self, folders: Sequence[str], name: str, own: bool) -> Located | None:
        portions = []
        for folder in folders:
            own = own and not (
                self._search and folder.startswith(self._search) and not folder.startswith(self._roots)
            )
            names = self.names_in(folder)
            if name in names:
                inside = f"{folder}/{name}"
                if "__init__.py" in self.names_in(inside):
                    return Located(f"{inside}/__init__.py", True, (inside,), own)
                if "__init__" in self._compiled_in(inside):
                    return Located(None, True, (inside,), own, compiled=True)
            if f"{name}.py" in names:
                return Located(f"{folder}/{name}.py", False, (), own)
            if name in self._compiled_in(folder):
                return Located(None, False, (), own, compiled=True)
            if name in names and self._reader.is_folder(f"{folder}/{name}"):
                portions.append(f"{folder}/{name}")
        if portions:
            return Located(None, True, tuple(portions), own)
        return None


_MOST_FILES = 200
"""The number of files to read to find the name under which the modules of a folder are imported."""
_MOST_UP = 8


class Namespaces:
    """Decides which folders without `__init__` are packages, caching the answers for one search."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._listed: dict[str, frozenset[str]] = {}
        self._named: dict[str, bool] = {}

    def is_package(self, folder: str) -> bool:
        """Return True if files in a folder, or the records of a distribution beside it, name it as a
        package.
        """
        name = os.path.basename(folder)
        if not name.isidentifier() or self._reader.is_file(f"{folder}/__init__.py"):
            return False
        return name in self._tops_of_wheels(os.path.dirname(folder)) or self._is_named_inside(folder, name)

    def root_above(self, folder: str) -> str | None:
        """Return the folder that contains the outermost namespace package around a folder; None if there is
        none.

        `folder` is a package, or a folder that may be a namespace itself.
        """
        found = None
        here = folder
        for _ in range(_MOST_UP):
            parent = os.path.dirname(here)
            if parent == here or not os.path.basename(here).isidentifier():
                break
            if self.is_package(here):
                found = parent
            here = parent
        return found

    def _tops_of_wheels(self, folder: str) -> frozenset[str]:
        """Return the folders with modules, according to the records of distributions in `folder`."""
        known = self._listed.get(folder)
        if known is None:
            records = [name for name in self._reader.names_in(folder) if name.endswith(".dist-info")]
            texts = [self._text(f"{folder}/{name}/RECORD") for name in records]
            found = {top.decode() for text in texts for top in _LISTED.findall(text)}
            known = self._listed[folder] = frozenset(found)
        return known

    def _is_named_inside(self, folder: str, name: str) -> bool:
        """Return True if a file below a folder imports from a package with the folder's name."""
        known = self._named.get(folder)
        if known is None:
            spelled = name.encode()
            # A folder above the checked ones may hold many other files, and most of them never say its name.
            told = (text for file in self._some_files(folder) if spelled in (text := self._text(file)))
            known = self._named[folder] = any(self._names(folder, spelled, text) for text in told)
        return known

    def _names(self, folder: str, name: bytes, text: bytes) -> bool:
        """Return True if a text imports something inside a folder from a package with this name."""
        asked = re.findall(
            rb"^[ \t]*(?:from[ \t]+%b[ \t]+import[ \t]+\(?[ \t]*(\w+)|(?:from|import)[ \t]+%b\.(\w+))"
            % (name, name),
            text,
            re.MULTILINE,
        )
        inside = (
            {os.path.splitext(one)[0].encode() for one in self._reader.names_in(folder)} if asked else set()
        )
        return any(one in inside or other in inside for one, other in asked)

    def _some_files(self, folder: str) -> list[str]:
        found: list[str] = []
        for here, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name.isidentifier())
            found += [f"{here}/{name}" for name in sorted(names) if name.endswith(".py")]
            if len(found) >= _MOST_FILES:
                break
        return found[:_MOST_FILES]

    def _text(self, path: str) -> bytes:
        try:
            return self._reader.read_bytes(path) if self._reader.is_regular(path) else b""
        except CannotRead:
            return b""


_LISTED = re.compile(rb"^([A-Za-z_]\w*)/[^\n]*\.py,", re.MULTILINE)
