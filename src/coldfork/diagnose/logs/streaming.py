"""Reads logs of any size in blocks, and keeps only the relevant parts of a large one."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 128 * 1024
_WHOLE = 3 * 512 * 1024
"""This much is always kept of the beginning and of the end."""
_CHOSEN = 2 * 1024 * 1024
"""This much is kept of the blocks in between that contain a sign."""
_LONGEST_LINE = 16 * 1024
_BINARY = 0.04
"""The share of control characters above which a block is not text."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a log."""

    first: int
    """The number of the first line."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The parts of a log that were kept."""

    passages: tuple[Passage, ...]
    size: int
    left_out: int
    """How many bytes of lines with a sign were omitted because there were too many."""
    binary: bool


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs to search for in a log that is too large to be kept whole."""

    anchors: tuple[bytes, ...] = ()
    """A few words, one of which is near every sign, so that most blocks can be dismissed quickly."""
    words: tuple[bytes, ...] = ()
    """The signs themselves."""

    def stand_in(self, data: bytes) -> bool:
        """Return whether this block of a log contains a sign and an anchor."""
        return any(word in data for word in self.anchors) and any(word in data for word in self.words)


def excerpt(stream: BinaryIO, signs: Signs) -> Excerpt:
    """Read a log to its end, but keep only its beginning, its end, and the lines around every sign."""
    return _Keeper(signs).read(stream)


class _Keeper:
    """Decides for each block which parts to keep, in memory that does not grow with the log."""

    def __init__(self, signs: Signs) -> None:
        self._signs = signs
        self._kept: list[Passage] = []
        self._last: deque[Passage] = deque()
        self._last_size = 0
        self._chosen = 0
        self._left_out = 0
        self._size = 0
        self._controls = 0
        self._follows = 0
        """How many blocks after a sign are still kept."""
        self._before: Passage | None = None

    def read(self, stream: BinaryIO) -> Excerpt:
        """Read the whole stream."""
        for passage in _passages(stream):
            self._take(passage)
        kept = (*self._kept, *self._last)
        binary = self._size > 0 and self._controls > _BINARY * min(self._size, _WHOLE)
        return Excerpt(tuple(sorted(kept, key=_first)), self._size, self._left_out, binary)

    def _take(self, passage: Passage) -> None:
        data = passage.data
        self._size += len(data)
        if self._size <= _WHOLE:
            self._controls += _controls(data)
            self._kept.append(passage)
            return
        self._last.append(passage)
        self._last_size += len(data)
        while self._last_size > _WHOLE:
            leaving = self._last.popleft()
            self._last_size -= len(leaving.data)
            self._choose(leaving)

    def _choose(self, passage: Passage) -> None:
        """Keep a block from the middle of the log if it contains a sign or adjoins one that does."""
        if self._signs.stand_in(passage.data):
            if self._before is not None:
                self._keep(self._before)
            self._keep(passage)
            self._before, self._follows = None, 1
        elif self._follows:
            self._keep(passage)
            self._before, self._follows = None, self._follows - 1
        else:
            self._before = passage

    def _keep(self, passage: Passage) -> None:
        if self._chosen + len(passage.data) > _CHOSEN:
            self._left_out += len(passage.data)
            return
        self._chosen += len(passage.data)
        self._kept.append(passage)


def _first(passage: Passage) -> int:
    return passage.first


def _controls(data: bytes) -> int:
    """Return how many bytes are control characters that do not occur in the text of a log."""
    return len(data) - len(data.translate(None, bytes({*range(32)} - {7, 8, 9, 10, 12, 13, 27})))


def _passages(stream: BinaryIO) -> Iterator[Passage]:
    """Yield the log in blocks that end at line ends."""
    first, rest = 1, b""
    for block in _utf8(stream):
        data = rest + block
        end = data.rfind(b"\n") + 1
        if not end:
            # An endless line, as in a binary file, is split so that it does not fill the memory.
            if len(data) > _LONGEST_LINE:
                yield Passage(first, data[:_LONGEST_LINE])
                rest = b""
            else:
                rest = data
            continue
        rest = data[end:]
        yield Passage(first, data[:end])
        first += data.count(b"\n", 0, end)
    if rest:
        yield Passage(first, rest)


def _utf8(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the blocks of a stream, converted to UTF-8 if they are in UTF-16, as PowerShell writes it."""
    block = stream.read(BLOCK)
    encoding = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(block[:2])
    if encoding is None:
        block = block.removeprefix(codecs.BOM_UTF8)
        while block:
            yield block
            block = stream.read(BLOCK)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    block = block[2:]
    while block:
        yield decoder.decode(block).encode("utf-8", "replace")
        block = stream.read(BLOCK)
