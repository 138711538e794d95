"""Turn the paths and wakers that a process reports into the form that all reports use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path, PurePath
from threading import Lock
from typing import Any

import coldfork
from coldfork.model.states import Frame, ImportSite

OWN = str(Path(coldfork.__file__).parent)

Event = Mapping[str, Any]


class Origins:
    """Paths as `check` writes them: relative to the folder that contains the top-level package.

    The object remembers the file behind each path, and may be used from several threads.
    """

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._roots: set[str] = set()
        self._lock = Lock()

    @property
    def files(self) -> Mapping[str, str]:
        """Return the files behind all paths that were returned so far, by path."""
        return self._files

    def path(self, file: str, module: str | None = None) -> str:
        """Return a file's path as reports write it; the module's name helps to find the top-level package."""
        if not file.startswith(os.sep):
            return file  # a name such as "<string>"
        named = root_by_name(file, module)
        with self._lock:
            if named is not None:
                self._roots.add(named)
            root = named or self._lifted(_root_by_packages(file))
            path = PurePath(file).relative_to(root).as_posix()
            self._files.setdefault(path, file)
        return path

    def frames(self, said: Iterable[Event]) -> tuple[Frame, ...]:
        """Return a stack as frames, cut where coldfork's own virtual device begins."""
        told = takewhile(lambda one: not one["path"].startswith(OWN), said)
        return tuple(Frame(self.path(one["path"]), one["line"], one["function"]) for one in told)

    def sites(self, said: Iterable[Event]) -> tuple[ImportSite, ...]:
        """Return a chain of imports, with the paths that reports use."""
        return tuple(
            ImportSite(one["module"], self.place(one["path"], one["module"]), one["line"]) for one in said
        )

    def place(self, file: str | None, module: str | None) -> str | None:
        """Return a file's path as reports write it; None if the file is unknown."""
        return None if file is None else self.path(file, module)

    def _lifted(self, root: str) -> str:
        """Return the highest known root above this one, if only namespace packages lie between the two."""
        above = [
            known
            for known in self._roots
            if PurePath(root).is_relative_to(known)
            and all(part.isidentifier() for part in PurePath(root).relative_to(known).parts)
        ]
        return max(above, key=len, default=root)


def root_by_name(file: str, module: str | None) -> str | None:
    """Return the folder from which a module's name counts, if the file's path matches the name."""
    if module is None:
        return None
    path = PurePath(file)
    names = list(path.parts[:-1]) if path.stem == "__init__" else [*path.parts[:-1], path.name.split(".")[0]]
    parts = module.split(".")
    if names[-len(parts) :] != parts:
        return None
    folders = len(parts) if path.stem == "__init__" else len(parts) - 1
    return str(path.parents[folders])


@cache
def _root_by_packages(file: str) -> str:
    folder = Path(file).parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return str(folder)
