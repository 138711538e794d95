"""Notes what imports read beside code: variables, the working directory, files.

A process that is forked later has what was read then. Where that is not what a new process would read, the
server is not for it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

FILTERING = {"tqdm.utils": "TQDM_"}
"""Modules that go through all variables for those whose names begin so."""
HANDING_ON = frozenset({"ctypes.util", "subprocess", "multiprocessing.util"})
"""Modules that go through all variables to hand them on to a program."""
PASSING = frozenset({"inspect", "multiprocessing.process", "traceback", "linecache"})
"""Modules that ask for the working directory and keep nothing of it that is not set anew."""
_OWN = frozenset({"os", "posixpath", "_collections_abc", "collections.abc", "pathlib", "pathlib._local"})


class Reads:
    """What has been read."""

    def __init__(self) -> None:
        self.variables: set[str] = set()
        self.beginnings: set[str] = set()
        """Beginnings of names: every variable of such a name was read."""
        self.whole: str | None = None
        """A module that went through all variables."""
        self.folder: str | None = None
        """A module that asked for the working directory."""
        self.files: set[str] = set()
        self._noting = False

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what is read in here."""
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
        """A variable was read."""
        if isinstance(name, str | bytes):
            self.variables.add(os.fsdecode(name))

    def every_variable(self) -> None:
        """All variables were gone through."""
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
        # It cannot be taken away again, and every process that is forked has it.
        if not self._noting or event != "open":
            return
        path, _, flags = arguments
        if isinstance(path, str | bytes) and isinstance(flags, int) and not flags & (os.O_WRONLY | os.O_RDWR):
            self.files.add(os.path.abspath(os.fsdecode(path)))


def _watched(kind: type, reads: Reads) -> Any:
    """The class of `os.environ`, telling what it is asked for."""

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
    """The module that asks, behind the standard library's own ways to ask."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name not in _OWN and name != __name__:
            return name
        frame = frame.f_back
    return ""
