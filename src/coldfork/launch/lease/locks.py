"""File locks that end with the process that took them, whatever it started and however it ended."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coldfork.launch.lease import holders

_DOOR = "door"
_DOOR_SECONDS = 5.0
_LOOK_SECONDS = 0.002


class _Descriptors:
    """The locks that this process holds. There is one, because a process has one table of descriptors.

    A lock belongs to the open file, which a forked child shares: a child that outlives its parent would hold
    it on. So each child forked by Python closes what it was handed, and nobody can unlock what is not theirs.
    A program that is executed gets none of them, because they are closed on exec.
    """

    def __init__(self) -> None:
        # A signal's handler may fork, or give a lease back, in the middle of anything here.
        self._lock = threading.RLock()
        self._open: set[int] = set()
        self._watching = False

    def opened(self, path: Path) -> int:
        with self._lock:
            if not self._watching:
                self._watching = True
                # The lock is held over the fork, so that no descriptor is open that nobody knows of.
                os.register_at_fork(
                    before=self._lock.acquire,
                    after_in_parent=self._lock.release,
                    after_in_child=self._forget,
                )
            # Python closes it on exec.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            self._open.add(descriptor)
            return descriptor

    def close(self, descriptor: int, *, unlock: bool = True) -> None:
        with self._lock:
            # Not there in a forked child, whose number may be another file's by now.
            if descriptor not in self._open:
                return
            self._open.discard(descriptor)
            if unlock:
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _forget(self) -> None:
        for descriptor in self._open:
            with suppress(OSError):
                os.close(descriptor)
        self._open.clear()
        self._lock.release()


_HELD = _Descriptors()


class Lock:
    """A lock on one file, held by this process until it is released or the process ends."""

    def __init__(self, descriptor: int, *, signed: bool) -> None:
        self._descriptor = descriptor
        self._pid = os.getpid()
        self._signed = signed

    def release(self) -> None:
        """Give it back; nothing happens the second time, or in a process forked from the holder."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0 or self._pid != os.getpid():
            return
        if self._signed:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
        _HELD.close(descriptor)


def exclusive(path: Path) -> Lock | None:
    """The lock on a file, signed with who holds it; None if anybody holds one."""
    lock = _taken(path, fcntl.LOCK_EX, signed=True)
    if lock is not None:
        holders.sign(lock._descriptor)
    return lock


def shared(path: Path) -> Lock | None:
    """A lock that others may share; None if somebody holds it alone."""
    return _taken(path, fcntl.LOCK_SH, signed=False)


def _taken(path: Path, how: int, *, signed: bool) -> Lock | None:
    descriptor = _HELD.opened(path)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        _HELD.close(descriptor, unlock=False)
        return None
    except BaseException:
        _HELD.close(descriptor, unlock=False)
        raise
    return Lock(descriptor, signed=signed)


@contextmanager
def door(folder: Path) -> Iterator[None]:
    """One chooser at a time, so that two who want several devices do not each hold half of them.

    Each device has a lock of its own, so whoever cannot wait any longer goes on without: a chooser that was
    stopped in the middle must not stop the others.
    """
    until = time.monotonic() + _DOOR_SECONDS
    lock = _taken(folder / _DOOR, fcntl.LOCK_EX, signed=False)
    while lock is None and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        lock = _taken(folder / _DOOR, fcntl.LOCK_EX, signed=False)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
