"""What the kernel tells of another process beside its files: shared descriptors, and where threads began."""

from __future__ import annotations

import errno
import os
from typing import Protocol

from coldfork.observe.probes.loader import Loader
from coldfork.observe.probes.maps import Maps
from coldfork.observe.probes.threads import NativeThread, ThreadReader
from coldfork.observe.processes.table import contents

_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "loongarch64": 272, "ppc64le": 354, "s390x": 343}
_FILES = 0
_C_LIBRARIES = (b"/libc.so", b"/libc-2.", b"/ld-musl")


class Kernel(Protocol):
    """The questions; tests answer them from what was recorded. An `OSError` is an answer that was refused."""

    def is_same_file(self, pid: int, descriptor: int, other: int, theirs: int) -> bool:
        """Whether descriptors of two processes are one open file, so that one came from the other."""
        ...

    def native_threads(self, pid: int, maps: Maps) -> tuple[NativeThread, ...]:
        """The threads that Python did not start, the main one left out, each with its library."""
        ...


class RunningKernel:
    """The kernel of this machine."""

    def __init__(self) -> None:
        self._loader = Loader()
        self._number = _KCMP.get(os.uname().machine)
        self._own: frozenset[bytes] | None = None

    def is_same_file(self, pid: int, descriptor: int, other: int, theirs: int) -> bool:
        """Whether descriptors of two processes are one open file; neither process notices."""
        if self._number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        c = self._loader.ctypes
        ask = c.CDLL(None, use_errno=True).syscall
        ask.restype = c.c_long
        answer = ask(*map(c.c_long, (self._number, pid, other, _FILES, descriptor, theirs)))
        if answer < 0:
            raise OSError(c.get_errno(), os.strerror(c.get_errno()))
        return bool(answer == 0)

    def native_threads(self, pid: int, maps: Maps) -> tuple[NativeThread, ...]:
        """The threads that Python did not start; the records of the C library are read where they lie."""
        if self._own is None:
            self._own = _c_library(os.getpid())
        if not self._own or _c_library(pid) != self._own:
            # Where a record keeps what differs between C libraries, and only our own is known.
            raise OSError(errno.ENOEXEC, "it runs with another C library than coldfork")
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
        return ThreadReader(self._loader, pid).native(maps)


def _c_library(pid: int) -> frozenset[bytes]:
    """The device, the inode and the path of the C library in a process."""
    lines = (line.split(maxsplit=5) for line in contents(f"/proc/{pid}/maps").splitlines())
    return frozenset(
        b" ".join(fields[3:])
        for fields in lines
        if len(fields) == 6 and any(n in fields[5] for n in _C_LIBRARIES)
    )
