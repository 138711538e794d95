"""Read the kernel's information about processes: from `/proc` or a copy of it, and from system calls.

Each function raises `OSError` if the process has ended meanwhile or this user may not see it; the caller
decides what that means.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from coldfork.observe.probes.loader import Loader
from coldfork.observe.probes.maps import Maps
from coldfork.observe.probes.threads import NativeThread, ThreadReader
from coldfork.observe.processes.table import Standing, contents

_CLOSE_ON_EXEC = 0o2000000
_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "loongarch64": 272, "ppc64le": 354, "s390x": 343}
_FILES = 0
_C_LIBRARIES = (b"/libc.so", b"/libc-2.", b"/ld-musl")


class Kernel:
    """A source of facts about processes; an `OSError` means that the kernel refused to answer."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = Path(root)
        self._loader = Loader()
        self._number = _KCMP.get(os.uname().machine)
        self._own: frozenset[bytes] | None = None

    def pids(self) -> list[int]:
        """Return the numbers of the processes that this user can see, in order."""
        return sorted(self._numbers("."))

    def standing(self, pid: int) -> Standing:
        """Return the facts in the kernel's `stat` entry of a process."""
        return self._standing(f"{pid}/stat")

    def thread_starts(self, pid: int) -> dict[int, int]:
        """Return the start time of each thread of a process, in clock ticks, by thread number."""
        starts = {}
        for tid in self._numbers(f"{pid}/task"):
            try:
                starts[tid] = self._standing(f"{pid}/task/{tid}/stat").start
            except OSError:
                continue
        return starts

    def user(self, pid: int) -> int:
        """Return the number of the user who owns the process."""
        words = self._words(f"{pid}/status", b"Uid:")
        if words is None:
            raise FileNotFoundError(f"{pid}/status names no user")
        return int(words[1])

    def is_first(self, pid: int) -> bool:
        """Return whether a process is the first one of its machine or container, which adopts all orphans."""
        words = self._words(f"{pid}/status", b"NSpid:")
        return pid == 1 if words is None else words[-1] == b"1"

    def words(self, pid: int) -> tuple[str, ...]:
        """Return the command line of a process; empty if it no longer has one."""
        text = self._read(f"{pid}/cmdline").rstrip(b"\0")
        return tuple(word.decode("utf-8", "backslashreplace") for word in text.split(b"\0")) if text else ()

    def setting(self, pid: int, name: str) -> str | None:
        """Return a variable of a process's initial environment; later changes do not show there."""
        for pair in self._read(f"{pid}/environ").split(b"\0"):
            key, equals, value = pair.partition(b"=")
            if equals and os.fsdecode(key) == name:
                return os.fsdecode(value)
        return None

    def program(self, pid: int) -> str:
        """Return the file that a process runs."""
        return self._link(f"{pid}/exe").removesuffix(" (deleted)")

    def memory_map(self, pid: int) -> bytes:
        """Return the memory map of a process."""
        return self._read(f"{pid}/maps")

    def open_files(self, pid: int) -> dict[int, str]:
        """Return the names of the files that a process has open, by descriptor."""
        found = {}
        for descriptor in self._numbers(f"{pid}/fd"):
            try:
                found[descriptor] = self._link(f"{pid}/fd/{descriptor}")
            except FileNotFoundError:
                continue
        return found

    def closes_on_exec(self, pid: int, descriptor: int) -> bool:
        """Return whether a descriptor is closed on exec; then this process cannot have inherited it through
        an exec.
        """
        words = self._words(f"{pid}/fdinfo/{descriptor}", b"flags:")
        return words is not None and bool(int(words[1], 8) & _CLOSE_ON_EXEC)

    def began(self) -> int:
        """Return the time at which the machine was booted, in seconds since 1970."""
        words = self._words("stat", b"btime ")
        return 0 if words is None else int(words[1])

    def is_same_file(self, pid: int, descriptor: int, other: int, theirs: int) -> bool:
        """Return whether descriptors of two processes share one open file; neither process is disturbed."""
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
        """Return the threads that native code started, without the main thread, each with its library.

        The C library's own records of them are read from the process's memory.
        """
        if self._own is None:
            self._own = _c_library(os.getpid())
        if not self._own or _c_library(pid) != self._own:
            # Each C library keeps the field at its own position in a thread's record, and we know only our
            # own's.
            raise OSError(errno.ENOEXEC, "it runs with a different C library than coldfork")
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
        return ThreadReader(self._loader, pid).native(maps)

    def _standing(self, place: str) -> Standing:
        try:
            return Standing(self._read(place))
        except ValueError:
            raise ProcessLookupError(f"{place} holds nothing") from None

    def _words(self, place: str, beginning: bytes) -> list[bytes] | None:
        """Return the words of the line in a file of `/proc` that starts with `beginning`."""
        lines = self._read(place).splitlines()
        return next((line.split() for line in lines if line.startswith(beginning)), None)

    def _numbers(self, place: str) -> Iterator[int]:
        return (int(entry.name) for entry in (self._root / place).iterdir() if entry.name.isdecimal())

    def _link(self, place: str) -> str:
        return str((self._root / place).readlink())

    def _read(self, place: str) -> bytes:
        return contents(str(self._root / place))


def _c_library(pid: int) -> frozenset[bytes]:
    """Return the device, the inode and the path of the C library that a process has mapped."""
    lines = (line.split(maxsplit=5) for line in contents(f"/proc/{pid}/maps").splitlines())
    return frozenset(
        b" ".join(fields[3:])
        for fields in lines
        if len(fields) == 6 and any(n in fields[5] for n in _C_LIBRARIES)
    )
