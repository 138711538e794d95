"""Find the file of a module the way the import system would, from folder listings alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from coldfork.source.files.reading import Reader
from coldfork.source.files.started import imported, is_started

_COMPILED = (".so", ".pyd", ".dylib")
#: Modules that are known by heart and never read: the standard library, and its backport of `typing`.
_STANDARD = sys.stdlib_module_names | {"typing_extensions"}


class Located(NamedTuple):
    """Where a module is: `path` is None for namespace packages and compiled modules."""

    path: str | None
    is_package: bool
    folders: tuple[str, ...]
    own: bool
    compiled: bool = False


class Finder:
    """Finds modules in the checked roots first, then in the dependencies' folders."""

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
        """For modules outside any package, those in the same folder by the names that they import them by."""
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
        """The names in a folder; empty when it cannot be read."""
        names = self._listings.get(folder)
        if names is None:
            names = self._listings[folder] = self._reader.names_in(folder)
        return names

    def _compiled_in(self, folder: str) -> frozenset[str]:
        """Names of the compiled modules in a folder."""
        stems = self._compiled.get(folder)
        if stems is None:
            stems = frozenset(n.partition(".")[0] for n in self.names_in(folder) if n.endswith(_COMPILED))
            self._compiled[folder] = stems
        return stems

    def find(self, module: str) -> Located | None:
        """Where `module` is, or None."""
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
                # A bare folder of the checked tree is a namespace portion; a real package elsewhere wins.
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
