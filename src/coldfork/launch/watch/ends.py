"""Notice from outside how processes end, using handles that stay valid when numbers are reused.

It does so without adopting orphans, which would then see another parent than usual.
"""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from coldfork.launch.plumbing.loop import readable
from coldfork.observe.processes.table import standing

# From linux/pidfd.h: _IOWR(0xFF, 11, struct pidfd_info), a structure with 64 bytes in its first version.
_INFO = struct.Struct("=Q52xi")
_GET_INFO = (3 << 30) | (_INFO.size << 16) | (0xFF << 8) | 11
_EXIT = 1 << 3
# From bsd/sys/event.h; of the two flags for ends, Python provides only the first.
_NOTE_EXIT_STATUS = 0x04000000
_MOST_EVENTS = 64


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended, with its exit status or signal if known."""

    pid: int
    status: int | None = None
    signal: int | None = None

    @classmethod
    def as_waited_for(cls, pid: int, status: int | None) -> Ended:
        """Make an object from a wait status; None stands for an unknown one."""
        if status is None:
            return cls(pid)
        code = os.waitstatus_to_exitcode(status)
        return cls(pid, code) if code >= 0 else cls(pid, signal=-code)


class PidDescriptors:
    """Linux's way: a descriptor for each process, which becomes readable when the process ends."""

    def __init__(self) -> None:
        self._attended: dict[int, int] = {}

    def attend(self, pid: int) -> bool:
        """Watch for the end of this process; return False if it has already ended."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return False
        self._attended[descriptor] = pid
        return True

    def wait(self, seconds: float) -> list[Ended]:
        """Wait at most this many seconds until a process ends; return those that have ended."""
        return list(self._ended(readable(list(self._attended), seconds)))

    def close(self) -> None:
        """Stop watching all processes."""
        for descriptor in self._attended:
            os.close(descriptor)
        self._attended.clear()

    def _ended(self, ready: list[int]) -> Iterator[Ended]:
        for descriptor in ready:
            pid = self._attended.pop(descriptor)
            # While a zombie is not reaped, its status is the last field of its `stat` line.
            zombie = standing(pid)
            status = None if zombie is None else zombie.status
            yield Ended.as_waited_for(pid, _of_reaped(descriptor) if status is None else status)
            os.close(descriptor)


class KernelQueue:
    """macOS's way: a queue of kernel events, which report the status together with the end."""

    def __init__(self, system: Any) -> None:
        self._system = system
        self._queue = system.kqueue()

    def attend(self, pid: int) -> bool:
        """Watch for the end of this process; return False if it has already ended."""
        system = self._system
        flags = system.KQ_EV_ADD | system.KQ_EV_ONESHOT
        wanted = system.KQ_NOTE_EXIT | _NOTE_EXIT_STATUS
        try:
            self._queue.control([system.kevent(pid, system.KQ_FILTER_PROC, flags, wanted)], 0, 0)
        except OSError:
            return False
        return True

    def wait(self, seconds: float) -> list[Ended]:
        """Wait at most this many seconds until a process ends; return those that have ended."""
        return [
            Ended.as_waited_for(event.ident, event.data if event.fflags & _NOTE_EXIT_STATUS else None)
            for event in self._queue.control(None, _MOST_EVENTS, seconds)
        ]

    def close(self) -> None:
        """Stop watching all processes."""
        self._queue.close()


Ends: TypeAlias = PidDescriptors | KernelQueue
"""An object that notices the ends of processes."""


def chosen() -> Ends | None:
    """Return an object that notices ends on this system; None if there is no way."""
    if hasattr(os, "pidfd_open"):
        return PidDescriptors()
    return KernelQueue(select) if hasattr(select, "kqueue") else None


def _of_reaped(descriptor: int) -> int | None:
    """Return the status of a reaped process, which Linux keeps from version 6.15 on; None before that."""
    import fcntl

    asked = bytearray(_INFO.pack(_EXIT, 0))
    try:
        fcntl.ioctl(descriptor, _GET_INFO, asked)
    except OSError:
        return None
    known, status = _INFO.unpack(asked)
    return status if known & _EXIT else None
