"""What a task and its result travel as: a pickle in the message itself, or a memory file beside it.

Large buffers, such as those of arrays, are not copied into the pickle: they follow it in the memory file, and
whoever unpickles them works on the pages of that file.
"""

from __future__ import annotations

import mmap
import os
import pickle
from dataclasses import dataclass

from coldfork.launch.plumbing import channel
from coldfork.launch.pool.transport.pickling import by_reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.pool.transport.pickling import Dumps

INLINE = 65_536
"""What is larger goes into a memory file."""
_APART = 32_768
"""Buffers from this size on are kept out of the pickle."""
_MOST_APART = 2_000
"""Where they lie has to fit into a message."""
_ALIGNMENT = 64


@dataclass(slots=True)
class Payload:
    """A value, packed."""

    data: bytes
    """The pickle, or where a memory file is, what tells its pieces apart."""
    memory: int = -1
    """The descriptor of the memory file."""
    kept: tuple[bytes | memoryview, ...] = ()
    """What the memory file is to hold, where there is none yet."""

    @property
    def is_large(self) -> bool:
        """Whether it has a memory file, or will have one when it is sent."""
        return self.memory >= 0 or bool(self.kept)

    def open(self) -> None:
        """Put what is kept into a memory file, which is sent next."""
        if self.kept and self.memory < 0:
            self.memory = channel.holding("coldfork", *self.kept)

    def close(self) -> None:
        """Let go of the memory file."""
        # Two threads may come here at once, and the number is another file's as soon as it is closed.
        memory, self.memory = self.memory, -1
        if memory >= 0:
            os.close(memory)


def pack(value: object, dumps: Dumps = by_reference, *, keep: bool = False) -> Payload:
    """A value as it travels; what `pickle` raises, where it cannot.

    With `keep` it is copied into this process, and needs no descriptor until it is opened.
    """
    buffers: list[pickle.PickleBuffer] = []

    def apart(buffer: pickle.PickleBuffer) -> bool:
        """Keep a large buffer out of the pickle; True leaves it inside."""
        try:
            small = buffer.raw().nbytes < _APART or len(buffers) >= _MOST_APART
        except BufferError:
            # It is not contiguous.
            return True
        if not small:
            buffers.append(buffer)
        return small

    data = dumps(value, apart)
    if not buffers and len(data) <= INLINE:
        return Payload(data)
    contents, layout = _laid_out([data, *(buffer.raw() for buffer in buffers)])
    if keep:
        return Payload(pickle.dumps(layout), kept=tuple(bytes(content) for content in contents))
    return Payload(pickle.dumps(layout), channel.holding("coldfork", *contents))


def _laid_out(
    pieces: list[bytes | memoryview],
) -> tuple[list[bytes | memoryview], list[tuple[int, int, bool]]]:
    """What a memory file is to hold; and of each piece, where it lies, its length, whether it is sealed."""
    contents: list[bytes | memoryview] = []
    layout: list[tuple[int, int, bool]] = []
    position = 0
    for piece in pieces:
        gap = -position % _ALIGNMENT
        if gap:
            contents.append(bytes(gap))
        position += gap
        contents.append(piece)
        layout.append((position, len(piece), isinstance(piece, memoryview) and piece.readonly))
        position += len(piece)
    return contents, layout


def unpack(data: bytes | memoryview, memory: int = -1) -> Any:
    """The value of a payload; the memory file is closed."""
    if memory < 0:
        return pickle.loads(data)
    layout: list[tuple[int, int, bool]] = pickle.loads(data)
    try:
        # Whoever changes what it was given changes it for itself: the same may be sent to another worker.
        pages = memoryview(mmap.mmap(memory, os.fstat(memory).st_size, access=mmap.ACCESS_COPY))
    finally:
        os.close(memory)
    pieces = [pages[begin : begin + length] for begin, length, _ in layout]
    buffers = [
        piece.toreadonly() if sealed else piece
        for piece, (_, _, sealed) in zip(pieces[1:], layout[1:], strict=True)
    ]
    return pickle.loads(pieces[0], buffers=buffers)
