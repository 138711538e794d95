"""Whether a folder without `__init__` is a package, by what its files and its neighbours say."""

from __future__ import annotations

import os
import re

from coldfork.source.files.reading import CannotRead, Reader

_MOST_FILES = 200
"""So many files tell well enough by which name the others import them."""
_MOST_UP = 8


class Namespaces:
    """Answers for one search, in which the same folders are asked about again and again."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._listed: dict[str, frozenset[str]] = {}
        self._named: dict[str, bool] = {}

    def is_package(self, folder: str) -> bool:
        """True when the files of a folder, or the distribution beside it, name it as a package."""
        name = os.path.basename(folder)
        if not name.isidentifier() or self._reader.is_file(f"{folder}/__init__.py"):
            return False
        return name in self._tops_of_wheels(os.path.dirname(folder)) or self._is_named_inside(folder, name)

    def root_above(self, folder: str) -> str | None:
        """The folder that holds the outermost namespace which a folder lies in; None where it is in none.

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
        """The folders that the records of distributions beside list modules in."""
        known = self._listed.get(folder)
        if known is None:
            records = [name for name in self._reader.names_in(folder) if name.endswith(".dist-info")]
            texts = [self._text(f"{folder}/{name}/RECORD") for name in records]
            found = {top.decode() for text in texts for top in _LISTED.findall(text)}
            known = self._listed[folder] = frozenset(found)
        return known

    def _is_named_inside(self, folder: str, name: str) -> bool:
        """True when a file below a folder imports what lies in it by a name that begins with the folder's."""
        known = self._named.get(folder)
        if known is None:
            spelled = name.encode()
            asked = re.compile(
                rb"^[ \t]*(?:from[ \t]+%b[ \t]+import[ \t]+\(?[ \t]*(\w+)|(?:from|import)[ \t]+%b\.(\w+))"
                % (spelled, spelled),
                re.MULTILINE,
            )
            inside = {os.path.splitext(one)[0].encode() for one in self._reader.names_in(folder)}
            known = self._named[folder] = any(
                one in inside or other in inside
                for file in self._some_files(folder)
                for one, other in asked.findall(self._text(file))
            )
        return known

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
