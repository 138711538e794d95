"""The file system as the checks see it, below a root that tests can move."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class Space:
    """The size of a file system and its free space, in bytes."""

    total: int
    free: int


class FileTree:
    """Reads files by their absolute names; returns None for missing or unreadable ones."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def place(self, name: str) -> Path:
        """Return the path under which this process can open a file."""
        return self._root / name.lstrip("/")

    def exists(self, name: str) -> bool:
        """Return whether the file exists."""
        try:
            return self.place(name).exists()
        except OSError:
            return False

    def text(self, name: str) -> str | None:
        """Return the content of a file; None if it cannot be read."""
        try:
            return self.place(name).read_text("utf-8", "replace")
        except OSError:
            return None

    def names(self, folder: str) -> list[str]:
        """Return the names of the entries of a folder."""
        try:
            return sorted(entry.name for entry in self.place(folder).iterdir())
        except OSError:
            return []

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a file; nothing if it cannot be read."""
        yield from (self.text(name) or "").splitlines()

    def may_use(self, name: str) -> bool:
        """Return whether this user may read and write the file, without opening it."""
        return os.access(self.place(name), os.R_OK | os.W_OK)

    def space(self, name: str) -> Space | None:
        """Return the size and free space of the file system that contains a folder."""
        try:
            found = os.statvfs(self.place(name))
        except (OSError, AttributeError):
            return None
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS, _STRINGS_SIZE = 1, 5, 10
_MOST_STRINGS = 64 << 20


def needed(file: Path) -> tuple[str, ...]:
    """Return the SONAMEs of the libraries that an ELF file needs; empty if it is not a 64-bit ELF file."""
    try:
        with file.open("rb") as stream:
            return _needed(stream)
    except (OSError, struct.error, ValueError):
        return ()


def _needed(stream: BinaryIO) -> tuple[str, ...]:
    head = stream.read(64)
    if head[:5] != b"\x7fELF\x02":
        return ()
    order = "<" if head[5] == 1 else ">"
    (table,) = struct.unpack_from(f"{order}Q", head, 32)
    size, count = struct.unpack_from(f"{order}HH", head, 54)
    stream.seek(table)
    headers = stream.read(size * count)
    # Each segment's kind, offset in the file, address in memory, and size in the file.
    segments = [
        (kind, offset, address, length)
        for kind, _, offset, address, _, length in (
            struct.unpack_from(f"{order}IIQQQQ", headers, size * index) for index in range(count)
        )
    ]
    dynamic = next((segment for segment in segments if segment[0] == _DYNAMIC), None)
    if dynamic is None:
        return ()
    stream.seek(dynamic[1])
    data = stream.read(dynamic[3])
    entries = list(struct.iter_unpack(f"{order}qQ", data[: len(data) // 16 * 16]))
    tags = dict(entries)
    strings = _at(stream, segments, tags[_STRINGS], tags[_STRINGS_SIZE]) if _STRINGS in tags else b""
    offsets = [value for tag, value in entries if tag == _NEEDED]
    return tuple(strings[at : strings.index(b"\0", at)].decode("utf-8", "replace") for at in offsets)


def _at(stream: BinaryIO, segments: list[tuple[int, int, int, int]], address: int, length: int) -> bytes:
    for kind, offset, begin, size in segments:
        if kind == _LOAD and begin <= address < begin + size:
            stream.seek(offset + address - begin)
            return stream.read(min(length, _MOST_STRINGS))
    return b""
