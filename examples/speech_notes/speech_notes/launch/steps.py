"""How far a task is: told by the worker that does it, through a named pipe that the server has made for it.

A named pipe, because a task is given to a worker that was there before the task, and a name is all that can
be handed to it then.
"""

from __future__ import annotations

import asyncio
import os
import struct
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from speech_notes.launch.launcher import Tell

_STEP = struct.Struct("=QQ")
_AT_ONCE = 4096 * _STEP.size


class Hearing:
    """The server's end: hears of each step while its block runs, in the event loop."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path = path
        self._tell = tell
        self._opened = ExitStack()

    def __enter__(self) -> Hearing:
        with ExitStack() as opened:
            os.mkfifo(self._path, 0o600)
            opened.callback(self._path.unlink)
            # It has a writer from the beginning, so that the end of another one is no end of it.
            reading = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
            opened.callback(os.close, reading)
            loop = asyncio.get_running_loop()
            loop.add_reader(reading, self._hear, reading)
            opened.callback(loop.remove_reader, reading)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def _hear(self, reading: int) -> None:
        with suppress(BlockingIOError):
            content = os.read(reading, _AT_ONCE)
            # So few bytes are written at once, or not at all: each step is a whole one, and the last counts.
            self._tell(*_STEP.unpack(content[-_STEP.size :]))


class Telling:
    """The worker's end. Who does not hear it holds nobody up, and makes no task fail."""

    def __init__(self, path: str) -> None:
        self._writing = -1
        with suppress(OSError):
            self._writing = os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    def __call__(self, done: int, total: int) -> None:
        """Tell a step."""
        if self._writing >= 0:
            with suppress(OSError):
                os.write(self._writing, _STEP.pack(done, total))

    def close(self) -> None:
        """Tell no more."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1
