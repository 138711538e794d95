"""Record what imports read (variables, working directory, files), and check whether it has changed.

A process that is forked later keeps the values that were read. If a newly started process would read other
values, the server cannot stand in for it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from coldfork.launch.server import variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from types import FrameType
    from typing import Any

    Mark = list[int] | None
    """Identifies a version of a file; None for a missing file."""

FILTERING = {"tqdm.utils": "TQDM_"}
"""Modules that go through all variables to find those with a prefix, each with its prefix."""
HANDING_ON = frozenset({"ctypes.util", "subprocess", "multiprocessing.util"})
"""Modules that go through all variables to pass them to a program."""
PASSING = frozenset({"inspect", "multiprocessing.process", "traceback", "linecache"})
"""Modules that ask for the working directory, but keep nothing of it that is not renewed."""
_TICK = 20_000_000
"""The coarsest step of a file system's clock, in nanoseconds."""
OURS = ("COLDFORK_WATCH", "COLDFORK_RUN", "COLDFORK_CHANNEL", "COLDFORK_SPARE")
"""Variables that differ for each script, and that only coldfork reads."""
_LOCALE = ("LANG", "LANGUAGE", "LC_")
_GIVEN_ANEW = (*variables.HELD, *variables.FOLLOWING, *variables.QUIET, *variables.UNLESS_SET)
"""Variables that are read at import, but whose values a script gets in another way."""
_OF_SHELLS = frozenset(
    {"_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM_SESSION_ID", "TMUX", "TMUX_PANE", "WINDOWID"}
)
"""Variables about the state of a shell, which code that goes through all variables does not use."""
_OWN = frozenset({"os", "posixpath", "_collections_abc", "collections.abc", "pathlib", "pathlib._local"})


class Reads:
    """A record of the variables, folders and files that imports have read."""

    def __init__(self) -> None:
        self.variables: set[str] = set()
        self.beginnings: set[str] = set()
        """Prefixes of names: every variable with such a prefix was read."""
        self.whole: str | None = None
        """A module that went through all variables."""
        self.folder: str | None = None
        """A module that asked for the working directory."""
        self.files: set[str] = set()
        self._noting = False

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Record reads during this context."""
        text, raw, here, here_raw = os.environ.__class__, os.environb.__class__, os.getcwd, os.getcwdb
        watched = _watched(text, self)
        sys.addaudithook(self._hear)
        os.environ.__class__ = os.environb.__class__ = watched
        os.getcwd, os.getcwdb = self._asked(here), self._asked(here_raw)
        self._noting = True
        try:
            yield
        finally:
            self._noting = False
            os.getcwd, os.getcwdb = here, here_raw
            os.environ.__class__, os.environb.__class__ = text, raw

    def variable(self, name: Any) -> None:
        """Record that a variable was read."""
        if isinstance(name, str | bytes):
            self.variables.add(os.fsdecode(name))

    def every_variable(self) -> None:
        """Record that a module has read all variables."""
        module = _asking(sys._getframe(2))
        if module in FILTERING:
            self.beginnings.add(FILTERING[module])
        elif module not in HANDING_ON:
            self.whole = self.whole or module

    def _asked(self, ask: Any) -> Any:
        def asked() -> Any:
            module = _asking(sys._getframe(1))
            if module not in PASSING:
                self.folder = self.folder or module
            return ask()

        return asked

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        # An audit hook cannot be removed, so outside the context it must do nothing, also in forked
        # processes.
        if not self._noting or event != "open":
            return
        path, _, flags = arguments
        if isinstance(path, str | bytes) and isinstance(flags, int) and not flags & (os.O_WRONLY | os.O_RDWR):
            self.files.add(os.path.abspath(os.fsdecode(path)))


def _watched(kind: type, reads: Reads) -> Any:
    """Return a class for `os.environ` that records reads."""

    class WatchedEnvironment(kind):  # type: ignore[misc]
        __slots__ = ()

        def __getitem__(self, name: Any) -> Any:
            reads.variable(name)
            return super().__getitem__(name)

        def __iter__(self) -> Any:
            reads.every_variable()
            return super().__iter__()

        def items(self) -> Any:
            reads.every_variable()
            return _plain(self).items()

        def values(self) -> Any:
            reads.every_variable()
            return _plain(self).values()

        def copy(self) -> Any:
            reads.every_variable()
            return _plain(self)

        def __len__(self) -> int:
            reads.every_variable()
            return len(_pairs(self))

    def _plain(environment: Any) -> dict[Any, Any]:
        return {
            environment.decodekey(key): environment.decodevalue(value) for key, value in _pairs(environment)
        }

    def _pairs(environment: Any) -> list[tuple[Any, Any]]:
        return list(environment._data.items())

    return WatchedEnvironment


def _asking(frame: FrameType | None) -> str:
    """Return the module that is reading, skipping standard library modules that read for another."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name not in _OWN and name != __name__:
            return name
        frame = frame.f_back
    return ""


# --- files ---


def files_of_modules(beside: Collection[str] = ()) -> Iterator[str]:
    """Yield the files of all imported modules except those in `beside`."""
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if name not in beside and isinstance(place, str):
            yield os.path.abspath(place)


def noted(paths: Iterable[str]) -> dict[str, Mark]:
    """Return marks of files and folders, by which later changes can be noticed."""
    return {path: _mark(path) for path in paths}


def changed(before: Mapping[str, Mark]) -> str | None:
    """Return the first file whose mark has changed; None if there is none."""
    return next((path for path, mark in before.items() if _mark(path) != mark), None)


def changed_since(moment: int, paths: Iterable[str]) -> str | None:
    """Return the first file that changed after, or just before, a moment in nanoseconds; None if there is
    none.
    """
    for path in paths:
        try:
            if os.stat(path).st_ctime_ns >= moment - _TICK:
                return path
        except OSError:
            continue
    return None


def _mark(path: str) -> Mark:
    try:
        status = os.stat(path)
    except OSError:
        return None
    # The time of the last status change, which programs cannot set.
    return [status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns]


# --- variables ---


def read_otherwise(then: Mapping[str, str], now: Mapping[str, str], read: Mapping[str, Any]) -> str | None:
    """Return a variable that the server has read and that has another value now; None if there is none."""
    for name in sorted(then.keys() | now.keys()):
        if name in OURS or name in _GIVEN_ANEW or then.get(name) == now.get(name):
            continue
        if _was_read(name, read):
            return name
    return None


def _was_read(name: str, read: Mapping[str, Any]) -> bool:
    return (
        name in read["variables"]
        or name.startswith(("PYTHON", *_LOCALE, *read["beginnings"]))
        or variables.was_read(name, read["early"])
        or (read["whole"] is not None and name not in _OF_SHELLS)
    )
