"""How tasks go to a worker and answers come back.

Tasks travel several to a message, over a socket that can carry a memory file with one of them. A *permit*
follows for each, over a pipe: a worker reads one before it begins with a task, and so may the pool, to take
back what the worker has not come to. Whoever has read the permit has the task, and nobody else.

Answers are frames in a pipe, so that many are read at once; what is large comes over the socket, before its
frame.
"""

from __future__ import annotations

import os
import socket
import struct
from errno import EMFILE

from coldfork.launch.plumbing import channel
from coldfork.launch.pool.transport.payloads import INLINE, Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    class Numbered(Protocol):
        """A task, as far as it travels."""

        @property
        def number(self) -> int:
            """What tells it from others."""

        @property
        def payload(self) -> Payload:
            """The call."""


RETURNED = 1
RAISED = 2
READY = 3
UNFIT = 4
"""A worker could not be made ready; the payload is the text that says why."""
CLEARED = 5
"""What the pool had taken back is gone, and there is room again."""
LARGE = 128
"""Added to the kind where the payload comes over the socket."""
LONGEST_TEXT = 16_384
"""So many bytes of a text are told."""

_TASK = struct.Struct("<QI")
_ANSWER = struct.Struct("<IBQd")
PERMIT = struct.Struct("<Q")
CLEAR = 0
"""In place of a task's number: nothing that was sent is wanted."""
_ROOM = 2 * INLINE + 4096
_MOST_TOGETHER = 64
# As plain numbers: joining members of an enumeration takes longer than sending.
_QUIETLY = int(socket.MSG_NOSIGNAL)
_AT_ONCE = int(socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)


class LostDescriptorError(OSError):
    """Something large was sent in a memory file, and this process had no descriptor free to receive it."""

    def __init__(self) -> None:
        super().__init__(EMFILE, f"{os.strerror(EMFILE)}: it was sent something large, in a memory file")


def reopened(descriptor: int) -> int:
    """The reading end of a pipe once more, from which it is read without waiting."""
    return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


# --- tasks ---


def together(tasks: Sequence[Numbered]) -> int:
    """How many of the first of these fit into one message."""
    size = count = 0
    for task in tasks:
        if task.payload.is_large:
            return count or 1
        size += len(task.payload.data) + _TASK.size
        if count and (size > INLINE or count >= _MOST_TOGETHER):
            break
        count += 1
    return count


def send_tasks(to: socket.socket, permits: int, tasks: Sequence[Numbered]) -> None:
    """Send these to a worker in one message; `OSError` and nothing sent if there is no room for it now."""
    parts: list[bytes] = []
    for task in tasks:
        parts += (_TASK.pack(task.number, len(task.payload.data)), task.payload.data)
    send(to, b"".join(parts), tasks[0].payload.memory, _AT_ONCE)
    os.write(permits, b"".join([PERMIT.pack(task.number) for task in tasks]))


def tasks_in(content: bytes) -> Iterator[tuple[int, memoryview]]:
    """The tasks of a message, by their numbers."""
    view, position = memoryview(content), 0
    while position < len(content):
        number, length = _TASK.unpack_from(content, position)
        position += _TASK.size
        yield number, view[position : position + length]
        position += length


# --- answers ---


def answer(pipe: int, over: socket.socket, kind: int, number: int, payload: Payload, seconds: float) -> None:
    """Send an answer; `BrokenPipeError` if nobody is there to read it."""
    data = payload.data
    if payload.memory >= 0:
        send(over, data, payload.memory)
        kind, data = kind | LARGE, b""
    frame = memoryview(_ANSWER.pack(len(data), kind, number, seconds) + data)
    while frame:
        frame = frame[os.write(pipe, frame) :]


class Answers:
    """What comes out of a worker's pipe, frame by frame."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._rest = b""

    def read(self) -> list[tuple[int, int, float, bytes]] | None:
        """Those that are there now, as kind, number, seconds and data; None when there are no more."""
        try:
            content = os.read(self._pipe, _ROOM)
        except BlockingIOError:
            return None
        if not content:
            return None
        if self._rest:
            content = self._rest + content
        frames = []
        position, end = 0, len(content)
        while end - position >= _ANSWER.size:
            length, kind, number, seconds = _ANSWER.unpack_from(content, position)
            begin = position + _ANSWER.size
            if end - begin < length:
                break
            position = begin + length
            frames.append((kind, number, seconds, content[begin:position]))
        self._rest = content[position:]
        return frames


# --- messages ---


def send(to: socket.socket, content: bytes, memory: int = -1, flags: int = _QUIETLY) -> None:
    """Send a message, with a memory file that stays open here."""
    if memory < 0:
        to.send(content, flags)
    else:
        channel.send_bytes(to, content, (memory,), flags)


def receive(source: socket.socket, flags: int = 0) -> tuple[bytes, int] | None:
    """The next message and its memory file; None when the other end is closed."""
    received = channel.receive_bytes(source, _ROOM, 1, flags)
    if received is None:
        return None
    content, descriptors, lost = received
    return content, descriptors[0] if descriptors else LOST if lost else -1


LOST = -2
"""In place of a memory file that this process had no descriptor for."""
