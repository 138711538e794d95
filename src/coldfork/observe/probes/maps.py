"""The files in this process's memory, with their addresses, from Linux's `/proc/self/maps`."""

from __future__ import annotations

import os

from coldfork.observe.processes.table import contents

_EXECUTABLE = ord("x")


def mapped() -> bytes:
    """Return the memory map as the kernel writes it; empty if there is none to read."""
    try:
        return contents("/proc/self/maps")
    except OSError:
        return b""


def executable_files(text: bytes) -> frozenset[bytes]:
    """Return the files in a memory map that contain code: the program, libraries and extension modules."""
    return frozenset(
        line[line.index(b"/") :] for line in text.split(b"\n") if b"xp " in line[:45] and b"/" in line
    )


def main_stack(text: bytes) -> tuple[int, int] | None:
    """Return the address range of the main thread's stack, including the room into which it can grow.

    To answer that, the C library would read the whole map again, which costs more than the rest of a first
    look.
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
        # A line is parsed only when needed, because few addresses are looked up among a thousand lines.
        self._lines = text.rstrip(b"\n").split(b"\n") if text else []

    def file_at(self, address: int, *, code: bool = True) -> str | None:
        """Return the file mapped at an address; with `code`, only if that memory is executable."""
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
        """Return the path of the first file with code whose name begins with one of these prefixes."""
        return next((path for name, path in self._names if name.startswith(prefixes)), None)


def _range(line: bytes) -> tuple[int, int]:
    """Return the range of addresses at the beginning of a line."""
    start, _, end = line[: line.index(b" ")].partition(b"-")
    return int(start, 16), int(end, 16)
