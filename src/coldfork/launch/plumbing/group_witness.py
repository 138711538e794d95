"""Tell whether a signal was sent to one process or to its whole group.

A signal itself does not say. So a helper process in our group, the witness, only receives signals: a signal
that reaches it too was sent to the whole group, and so has reached the program directly.
"""

from __future__ import annotations

import os
import signal
import struct
from contextlib import suppress
from time import monotonic

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_NOTE = struct.Struct("=Bd")
_PATIENCE_SECONDS = 0.02
_STALE_SECONDS = 0.5


class GroupWitness:
    """A process in our process group that receives signals and does nothing else."""

    def __init__(self, signals: frozenset[int], die_with_us: Callable[[], None]) -> None:
        self._reading, writing = os.pipe()
        self._notes: list[tuple[int, float]] = []
        us = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _listen(signals, writing, die_with_us, us)
        os.close(writing)
        os.set_blocking(self._reading, False)

    def heard(self, number: int) -> bool:
        """Return whether a signal that has just reached us has reached the witness as well."""
        began = monotonic()
        while True:
            self._read()
            for note in self._notes:
                if note[0] == number:
                    self._notes.remove(note)
                    return True
            left = began + _PATIENCE_SECONDS - monotonic()
            if left <= 0 or not readable([self._reading], left):
                return False

    def forget(self, number: int) -> None:
        """Drop the witness's record of a handled signal, so that the next one is noticed."""
        self._read()
        self._notes = [note for note in self._notes if note[0] != number]

    def dismiss(self) -> None:
        """End the witness."""
        os.kill(self._pid, signal.SIGKILL)
        kernel.reap(self._pid)
        os.close(self._reading)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            self._notes += _NOTE.iter_unpack(os.read(self._reading, 64 * _NOTE.size))
        now = monotonic()
        self._notes = [note for note in self._notes if now - note[1] < _STALE_SECONDS]


def _listen(signals: frozenset[int], writing: int, die_with_us: Callable[[], None], parent: int) -> NoReturn:
    try:
        die_with_us()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            # An open stream here would keep a reader of our output from seeing its end when we end.
            os.dup2(nowhere, stream)
        while os.getppid() == parent:
            os.write(writing, _NOTE.pack(signal.sigwait(signals), monotonic()))
    finally:
        os._exit(0)
