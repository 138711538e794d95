"""Which files this process has in its memory, and at which addresses: Linux's `/proc/self/maps`."""

from __future__ import annotations

import os

_CHUNK = 1 << 16


def contents(path: str) -> bytes:
    """The whole of a file of `/proc`; `OSError` where it is missing or forbidden."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(descriptor, _CHUNK):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def mapped() -> bytes:
    """The memory map as the kernel writes it; empty where there is none to read."""
    try:
        return contents("/proc/self/maps")
    except OSError:
        return b""


def executable_files(text: bytes) -> frozenset[bytes]:
    """The files with code in a memory map: the program, its shared libraries and the extension modules."""
    return frozenset(
        line[line.index(b"/") :] for line in text.split(b"\n") if b"xp " in line[:45] and b"/" in line
    )


class Maps:
    """A memory map, read into ranges of addresses."""

    def __init__(self, text: bytes) -> None:
        self.files = tuple(sorted(os.fsdecode(path) for path in executable_files(text)))
        """The files with code, by path."""
        self._starts: list[int] = []
        self._ranges: list[tuple[int, bool, bytes]] = []
        for line in text.split(b"\n"):
            where = line.find(b"/")
            if where < 0:
                continue
            addresses, permissions, _ = line.split(b" ", 2)
            start, _, end = addresses.partition(b"-")
            self._starts.append(int(start, 16))
            self._ranges.append((int(end, 16), b"x" in permissions, line[where:]))
        self._lowest = self._starts[0] if self._starts else 0
        self._highest = self._ranges[-1][0] if self._ranges else 0

    def file_at(self, address: int, *, code: bool = True) -> str | None:
        """The file mapped at an address; with `code`, only where it may be executed."""
        if not self._lowest <= address < self._highest:
            return None
        index = _place(self._starts, address)
        end, executable, path = self._ranges[index]
        if address >= end or (code and not executable):
            return None
        return os.fsdecode(path)

    def named(self, *prefixes: str) -> str | None:
        """The path of the first file with code whose name begins with one of these."""
        return next((path for path in self.files if path.rpartition("/")[2].startswith(prefixes)), None)


def _place(starts: list[int], address: int) -> int:
    """The index of the last start that is not above the address: `bisect` is a module more."""
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] <= address:
            low = middle + 1
        else:
            high = middle
    return low - 1
