"""CPU memory without a name: the system frees it when the last process that holds it has ended, however."""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from multiprocessing import reduction
from typing import Any


class Memory:
    """Zeroed memory that is shared with every process it is handed to as an argument."""

    def __init__(self, size: int, name: str = "kv-cache") -> None:
        self.size = size
        self._map(_nameless(size, name))

    def lock(self, at: int, *, shared: bool = False, wait: bool = True) -> bool:
        """Lock one byte against other processes; False if somebody has it and `wait` does not.

        These locks belong to processes, so a process that is killed holds none.
        """
        how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        try:
            fcntl.lockf(self._descriptor, how, 1, at)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(self, at: int) -> None:
        """Let go of one byte."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, at)

    def close(self) -> None:
        """Let go of all of it in this process."""
        self.bytes.release()
        self._mapped.close()
        os.close(self._descriptor)

    def _map(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._mapped = mmap.mmap(descriptor, self.size)
        self.bytes = memoryview(self._mapped)

    def __getstate__(self) -> tuple[int, Any]:
        # Works while a process is being started, and hands it the open file itself: there is no name to leak.
        return self.size, reduction.DupFd(self._descriptor)

    def __setstate__(self, state: tuple[int, Any]) -> None:
        self.size, descriptor = state
        self._map(descriptor.detach())


def _nameless(size: int, name: str) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    else:
        # Elsewhere a file that is deleted as soon as it is there.
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor
