"""Which files this process has in its memory, and at which addresses: Linux's `/proc/self/maps`."""

from __future__ import annotations

import os

from coldfork.observe.processes.table import contents

_EXECUTABLE = ord("x")


def mapped() -> bytes:
    """Return the memory map as the kernel writes it; empty where there is none to read."""
    try:
        return contents("/proc/self/maps")
    except OSError:
        return b""


def executable_files(text: bytes) -> frozenset[bytes]:
    """Return the files with code in a memory map: the program, its shared libraries and extension modules."""
    return frozenset(
        line[line.index(b"/") :] for line in text.split(b"\n") if b"xp " in line[:45] and b"/" in line
    )


def main_stack(text: bytes) -> tuple[int, int] | None:
    """Return where the main thread's stack may lie, including the room it can still grow into.

    The C library reads the whole map anew to answer that, which costs more than the rest of a first look.
    """
    where = text.rfind(b"[stack]")
    if where < 0:
        return None
    begin = text.rfind(b"\n", 0, where) + 1
    before = text[text.rfind(b"\n", 0, begin - 1) + 1 : begin] if begin else b""
    lowest = _range(before)[1] if before else 0
    return lowest, _range(text[begin:where])[1]


class Maps:
    """A memory map, read into ranges of addresses."""

    def __init__(self, text: bytes) -> None:
        self.main_stack: tuple[int, int] | None = main_stack(text)
        self.files: tuple[str, ...] = tuple(sorted(os.fsdecode(path) for path in executable_files(text)))
        """The files with code, by path."""
        self._names = [(path.rpartition("/")[2], path) for path in self.files]
        # Few addresses are asked for, and a map has a thousand lines: each is parsed only when needed.
        self._lines = text.rstrip(b"\n").split(b"\n") if text else []

    def file_at(self, address: int, *, code: bool = True) -> str | None:
        """Return the file mapped at an address; with `code`, only where it may be executed."""
        line = self._line_of(address)
        where = line.find(b"/")
        if where < 0 or address >= _range(line)[1]:
            return None
        if code and line[line.index(b" ") + 3] != _EXECUTABLE:
            return None
        return os.fsdecode(line[where:])

    def _line_of(self, address: int) -> bytes:
        """Return the last line that begins at or below an address, without importing `bisect`."""
        low, high = 0, len(self._lines)
        while low < high:
            middle = (low + high) // 2
            if _range(self._lines[middle])[0] <= address:
                low = middle + 1
            else:
                high = middle
        return self._lines[low - 1] if low else b""

    def named(self, *prefixes: str) -> str | None:
        """Return the path of the first file with code whose name begins with one of these."""
        return next((path for name, path in self._names if name.startswith(prefixes)), None)


def _range(line: bytes) -> tuple[int, int]:
    """Return the addresses with which a line begins."""
    start, _, end = line[: line.index(b" ")].partition(b"-")
    return int(start, 16), int(end, 16)
