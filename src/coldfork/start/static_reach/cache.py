"""Answers about modules in the cache folder, which are valid until the files behind them change.

An answer is valid as long as the files beside the module, the folders on `sys.path`, the interpreter, the
profile and coldfork itself are the same. Installing or removing a package changes the package's folder.
"""

from __future__ import annotations

import os
import sys
from math import inf
from time import time
from typing import TYPE_CHECKING, Any

from coldfork import __version__
from coldfork.observe.forking.questions import profile
from coldfork.observe.kept_files import KeptFile, digest
from coldfork.start.static_reach.answers import Place, ReachAnswer, Reached

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_FILES = 2000
"""With more files, checking for changes would cost more than a decision may."""
_IN_VAIN_SECONDS = 600.0
_LEFT_OUT = ("__pycache__", "node_modules", "site-packages", "dist-packages")


class KeptAnswer:
    """The cache entry for one module."""

    def __init__(self, file: KeptFile, stamp: str | None) -> None:
        self._file = file
        self._stamp = stamp

    @classmethod
    def of(cls, place: Place, search: Sequence[str]) -> KeptAnswer:
        """Return the entry for a module, with the stamp of the files behind the answer."""
        name = digest((place.module, place.path, profile(), *sys.version_info, __version__))
        file = KeptFile.of("reach", name)
        stamp = _stamp(place, search) if file.possible else None
        return cls(KeptFile(None) if stamp is None else file, stamp)

    @property
    def possible(self) -> bool:
        """Return whether the answer can be cached at all."""
        return self._file.possible

    def read(self) -> ReachAnswer | None:
        """Return the answer, or None if there is no valid one."""
        stored = self._file.read()
        try:
            if stored is None or stored["stamp"] != self._stamp or time() > stored.get("until", inf):
                return None
            return ReachAnswer(**{**stored["answer"], "reached": Reached(stored["answer"]["reached"])})
        except (ValueError, KeyError, TypeError):
            return None

    def write(self, answer: ReachAnswer) -> None:
        """Cache an answer; failures to do so are ignored.

        The failure to get an answer is cached for some minutes, so that not every process of a tree waits
        again.
        """
        fields = ("module", "reached", "reason", "accelerator", "verdict", "path", "line")
        stored: dict[str, Any] = {
            "stamp": self._stamp,
            "answer": {name: getattr(answer, name) for name in fields},
        }
        if answer.reached is Reached.UNKNOWN:
            stored["until"] = time() + _IN_VAIN_SECONDS
        self._file.write(stored)


def _stamp(place: Place, search: Sequence[str]) -> str | None:
    """Return a stamp that changes with the files beside the module; None if they are too many."""
    files = []
    # Installed code changes only when it is installed again, which changes a folder of `sys.path`, and most
    # of it is too large to be searched. The files that lead to the module are checked all the same.
    installed = os.path.basename(place.root) in _LEFT_OUT
    for found in _on_the_way(place) if installed else _files(place.root):
        files.append(found)
        if len(files) > _MOST_FILES:
            return None
    folders = [(folder, _changed(folder)) for folder in search]
    return digest((*sorted(files), *folders))


def _on_the_way(place: Place) -> Iterator[tuple[str, int, int]]:
    """Yield the module's own file, and the files of the packages that contain it."""
    path = place.root
    for part in place.module.split("."):
        path = os.path.join(path, part)
        for file in (f"{path}.py", os.path.join(path, "__init__.py")):
            try:
                status = os.stat(file)
            except OSError:
                continue
            yield file, status.st_mtime_ns, status.st_size


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield every Python file in a folder and below it, with its time and size."""
    waiting = [folder]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name in _LEFT_OUT:
                    continue
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    yield entry.path, status.st_mtime_ns, status.st_size
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return 0
