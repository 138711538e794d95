"""The threads of a process that Python did not start, and the library that each belongs to.

For every thread, the kernel keeps the address of a list that the C library has registered. The C library
keeps the list at a fixed place in its record of the thread, so the address leads to the record. The record
also contains the function in which the thread began. The library with this function owns the thread, whatever
the thread is doing and whatever its name is. This works for threads that compute as well as for those that
wait, and disturbs neither.
"""

from __future__ import annotations

import os
from _thread import _count as python_threads
from _thread import get_ident
from time import sleep

from coldfork.observe.probes.maps import Maps
from coldfork.observe.processes.table import contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.observe.probes.loader import Loader

_SELF = "/proc/self"
_GET_ROBUST_LIST = {
    "x86_64": 274, "aarch64": 100, "riscv64": 100, "loongarch64": 100, "ppc64le": 300, "s390x": 305,
}  # fmt: skip
_RECORD_BYTES = 0x900
"""The largest size of glibc's `struct pthread`; reading less is fine too."""
_WORD = 8
_PATIENCE = 20
_A_MOMENT = 0.001
# Symbols that glibc has for debuggers: the number of threads; and a field's size in bits, number and offset.
_TOTAL = "__nptl_nthreads"
_START = "_thread_db_pthread_start_routine"
# In these libraries every thread begins in a wrapper; its argument leads to the real function.
_TRAMPOLINES = ("libstdc++.so", "libc++.so")
_C_LIBRARIES = ("libc.so", "libc-", "libpthread", "ld-linux", "ld-musl")


class NativeThread:
    """A thread that some library started."""

    __slots__ = ("argument", "library", "name", "owner", "tid")

    def __init__(self, tid: int, name: str, library: str | None, argument: int | None = None) -> None:
        self.tid: int = tid
        self.name: str = name
        self.library: str | None = library
        """The file with the function in which the thread began; None if it could not be read."""
        self.owner: str = library.rpartition("/")[2] if library else ""
        """The name of that file; empty if it is unknown."""
        self.argument: int | None = argument
        """The argument of that function, an address that can show who started the thread."""

    def __repr__(self) -> str:
        return f"<thread {self.tid} {self.name!r} of {self.library}>"


class ThreadReader:
    """A reader of the threads of this process, or of another process with the same C library."""

    def __init__(self, loader: Loader, pid: int | None = None) -> None:
        self._other = pid
        self._folder = _SELF if pid is None else f"/proc/{pid}"
        self._ctypes = loader.ctypes
        self._syscall = loader.program.syscall
        self._syscall.restype = loader.ctypes.c_long
        self._number = _GET_ROBUST_LIST.get(os.uname().machine)
        self._hopeless: frozenset[int] = frozenset()
        """Threads for which an earlier wait was in vain."""
        self._total = _described(loader, _TOTAL, 1)
        start = _described(loader, _START, 3)
        self._start: int | None = start[2] if start is not None and start[0] == _WORD * 8 else None

    def count(self) -> int | None:
        """Return the number of threads in this process that Python did not start, including the main one.

        glibc counts its threads for debuggers, and reading that takes a tenth of a microsecond; the kernel's
        own count takes five. Return None if neither is available.
        """
        if self._total is not None:
            return int(self._total[0]) - python_threads()
        try:
            return os.stat(f"{_SELF}/task").st_nlink - 2 - python_threads()
        except OSError:
            return None

    def native(self, maps: Maps) -> tuple[NativeThread, ...]:
        """Return the threads except the main one and Python's; raise `OSError` if the kernel shows no
        threads.
        """
        found = self._read(maps)
        for _ in range(_PATIENCE):
            if self._lost(found) <= self._hopeless:
                break
            # A thread first registers its list, and this one may not have run yet.
            sleep(_A_MOMENT)
            found = self._read(maps)
        self._hopeless = self._lost(found)
        return found

    @staticmethod
    def _lost(found: tuple[NativeThread, ...]) -> frozenset[int]:
        return frozenset(thread.tid for thread in found if thread.library is None)

    def _read(self, maps: Maps) -> tuple[NativeThread, ...]:
        offset = self._offset()
        found = []
        memory = _open_memory(self._folder) if offset is not None else None
        main = self._other if self._other is not None else os.getpid()
        try:
            for tid in sorted(map(int, os.listdir(f"{self._folder}/task"))):
                if tid == main:
                    continue
                thread = self._thread(tid, maps, memory, offset)
                if thread is not None and not self._is_python(thread):
                    found.append(thread)
        finally:
            if memory is not None:
                os.close(memory)
        return tuple(found)

    def _thread(self, tid: int, maps: Maps, memory: int | None, offset: int | None) -> NativeThread | None:
        """Return one thread; None if it has ended meanwhile."""
        try:
            name = contents(f"{self._folder}/task/{tid}/comm").rstrip(b"\n").decode("utf-8", "replace")
        except OSError:
            return None
        library, argument = None, None
        if memory is not None and offset is not None:
            library, argument = self._beginning(tid, maps, memory, offset)
        return NativeThread(tid, name, library or self._waiting_in(tid, maps), argument)

    def _offset(self) -> int | None:
        """Return the offset of a thread's robust list in the C library's record, found with the calling
        thread.
        """
        head = self._robust_list(0)
        if head is None:
            return None
        distance = head - get_ident()
        return distance if 0 < distance < _RECORD_BYTES else None

    def _robust_list(self, tid: int) -> int | None:
        if self._number is None:
            return None
        head, length = self._ctypes.c_void_p(), self._ctypes.c_size_t()
        reference = self._ctypes.byref
        failed = self._syscall(self._number, tid, reference(head), reference(length))
        return None if failed else head.value

    def _beginning(self, tid: int, maps: Maps, memory: int, offset: int) -> tuple[str | None, int | None]:
        """Return the library of a thread's first function, and that function's argument."""
        head = self._robust_list(tid)
        if head is None:
            return None, None
        record = head - offset
        if self._start is not None:
            words = _words(memory, record + self._start, 2 * _WORD)
        else:
            # The first address of code in the record belongs to the function in which the thread began.
            words = _words(memory, record, _RECORD_BYTES)
        for word, argument in zip(words, [*words[1:], 0], strict=True):
            path = maps.file_at(word)
            if path is None:
                continue
            if path.rpartition("/")[2].startswith(_TRAMPOLINES):
                # For a `std::thread` the argument is an object, whose first word points to its class's table.
                table = _words(memory, argument, _WORD)
                return (maps.file_at(table[0], code=False) if table else None) or path, argument
            return path, argument
        return None, None

    def _waiting_in(self, tid: int, maps: Maps) -> str | None:
        """Return the library in whose code a thread waits; the C library, where most wait, does not count."""
        try:
            where = contents(f"{self._folder}/task/{tid}/syscall").split()[-1]
            path = maps.file_at(int(where, 16))
        except (OSError, ValueError, IndexError):
            return None
        return None if path is None or path.rpartition("/")[2].startswith(_C_LIBRARIES) else path

    def _is_python(self, thread: NativeThread) -> bool:
        """Return whether Python started a thread, which then began in libpython or in Python's program."""
        return thread.owner.startswith(("libpython", "python")) or thread.library == _program(self._folder)


def _described(loader: Loader, name: str, length: int) -> Any:
    """Return an item of glibc's data for debuggers; None if this C library does not export it."""
    try:
        return (loader.ctypes.c_uint32 * length).in_dll(loader.program, name)
    except ValueError:
        return None


def _open_memory(folder: str) -> int | None:
    """Open the process's memory as a file: reading a missing page from it is an error, not a crash."""
    try:
        return os.open(f"{folder}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _words(memory: int, address: int, length: int) -> list[int]:
    try:
        data = os.pread(memory, length, address)
    except (OSError, OverflowError):
        return []
    return memoryview(data[: len(data) // _WORD * _WORD]).cast("Q").tolist()


def _program(folder: str) -> str:
    try:
        return os.readlink(f"{folder}/exe")
    except OSError:
        return ""
