"""Learn from outside how processes end, by handles that stay valid when a number is reused.

No process is adopted for it: a subreaper would change what orphans see as their parent.
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

# linux/pidfd.h: _IOWR(0xFF, 11, struct pidfd_info), whose first version has 64 bytes.
_INFO = struct.Struct("=Q52xi")
_GET_INFO = (3 << 30) | (_INFO.size << 16) | (0xFF << 8) | 11
_EXIT = 1 << 3
# bsd/sys/event.h, of which Python exposes only the first.
_NOTE_EXIT_STATUS = 0x04000000
_MOST_EVENTS = 64


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended: with a status, or by a signal, or in an unknown way."""

    pid: int
    status: int | None = None
    signal: int | None = None

    @classmethod
    def as_waited_for(cls, pid: int, status: int | None) -> Ended:
        """Make it from a status as `wait` returns it, or None."""
        if status is None:
            return cls(pid)
        code = os.waitstatus_to_exitcode(status)
        return cls(pid, code) if code >= 0 else cls(pid, signal=-code)


class PidDescriptors:
    """Linux: a descriptor for each process, readable once it has ended."""

    def __init__(self) -> None:
        self._attended: dict[int, int] = {}

    def attend(self, pid: int) -> bool:
        """Watch for the end of this process; False if it is gone already."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return False
        self._attended[descriptor] = pid
        return True

    def wait(self, seconds: float) -> list[Ended]:
        """Wait for the next ends, and return them as soon as there is one."""
        return list(self._ended(readable(list(self._attended), seconds)))

    def close(self) -> None:
        """Stop watching."""
        for descriptor in self._attended:
            os.close(descriptor)
        self._attended.clear()

    def _ended(self, ready: list[int]) -> Iterator[Ended]:
        for descriptor in ready:
            pid = self._attended.pop(descriptor)
            # The status of a process that was not waited for is the last field of its line.
            zombie = standing(pid)
            status = None if zombie is None else zombie.status
            yield Ended.as_waited_for(pid, _of_reaped(descriptor) if status is None else status)
            os.close(descriptor)


class KernelQueue:
    """macOS: a queue of kernel events, which delivers the status together with the end."""

    def __init__(self, system: Any) -> None:
        self._system = system
        self._queue = system.kqueue()

    def attend(self, pid: int) -> bool:
        """Watch for the end of this process; False if it is gone already."""
        system = self._system
        flags = system.KQ_EV_ADD | system.KQ_EV_ONESHOT
        wanted = system.KQ_NOTE_EXIT | _NOTE_EXIT_STATUS
        try:
            self._queue.control([system.kevent(pid, system.KQ_FILTER_PROC, flags, wanted)], 0, 0)
        except OSError:
            return False
        return True

    def wait(self, seconds: float) -> list[Ended]:
        """Wait for the next ends, and return them as soon as there is one."""
        return [
            Ended.as_waited_for(event.ident, event.data if event.fflags & _NOTE_EXIT_STATUS else None)
            for event in self._queue.control(None, _MOST_EVENTS, seconds)
        ]

    def close(self) -> None:
        """Stop watching."""
        self._queue.close()


Ends: TypeAlias = PidDescriptors | KernelQueue
"""Learns when processes end."""


def chosen() -> Ends | None:
    """Return what this system offers; None where it has neither."""
    if hasattr(os, "pidfd_open"):
        return PidDescriptors()
    return KernelQueue(select) if hasattr(select, "kqueue") else None


def _of_reaped(descriptor: int) -> int | None:
    """Return the status of a reaped process from a kernel that keeps it: Linux 6.15 and newer."""
    import fcntl

    asked = bytearray(_INFO.pack(_EXIT, 0))
    try:
        fcntl.ioctl(descriptor, _GET_INFO, asked)
    except OSError:
        return None
    known, status = _INFO.unpack(asked)
    return status if known & _EXIT else None
