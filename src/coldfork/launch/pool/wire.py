"""The formats in which tasks travel to a worker, and answers back.

A message carries several tasks over a socket, and may carry a memory file for one of them. For each task a
*permit* follows over a pipe. A worker reads a permit before it begins a task; the pool reads one to take back
a task that the worker has not reached. The task belongs to the reader of its permit. Answers are frames in a
pipe, so that many can be read at once; a large answer comes over the socket, before its frame.

A value is a pickle, in the message itself or in a memory file. Large buffers, such as those of arrays, follow
the pickle in the memory file, and the unpickled objects use the file's pages.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import struct
import traceback

from coldfork.launch.plumbing import channel
from coldfork.launch.pool.payload import LostDescriptorError, Payload, reducers
from coldfork.model.errors import leave_out_first_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import FileIO
    from typing import Any

    from coldfork.launch.pool.task import Task

    Apart = Callable[[pickle.PickleBuffer], object]
    Dumps = Callable[[object, Apart | None], bytes]

RETURNED = 1
RAISED = 2
READY = 3
UNFIT = 4
"""A worker could not be prepared; the payload is a text that says why."""
CLEARED = 5
"""The tasks that the pool had taken back are discarded, and there is room again."""
ENDED = 6
"""The worker has ended; the number is its wait status, reported by its reaper."""
LARGE = 128
"""Added to the kind if the payload comes over the socket."""
LONGEST_TEXT = 16_384
"""The most bytes of a text that are sent."""
LOST = -2
"""Stands for a memory file for which this process had no free descriptor."""
INLINE = 65_536
"""Larger pickles go into a memory file."""
_APART = 32_768
"""Buffers of at least this size are kept out of the pickle."""
_MOST_APART = 2_000
"""The most buffers that are kept out of the pickle: their layout has to fit into a message."""
_ALIGNMENT = 64

_TASK = struct.Struct("<QI")
_ANSWER = struct.Struct("<HBIQd")
_BEGIN = 0xC01D
_END = b"\xf0\x4b"
"""Marks both ends of each answer: a task may write to any pipe that it finds, and so garble the answers."""
_KINDS = frozenset({RETURNED, RAISED, READY, UNFIT, CLEARED, ENDED, RETURNED | LARGE, RAISED | LARGE})
PERMIT = struct.Struct("<Q")
CLEAR = 0
"""Stands for a task's number: discard everything that was sent."""
END = (1 << 64) - 1
"""Stands for a task's number: no more tasks will come."""
_ROOM = 2 * INLINE + 4096
_MOST_TOGETHER = 64
# Plain integers: combining enumeration members takes longer than sending a message.
_QUIETLY = int(socket.MSG_NOSIGNAL)
AT_ONCE = int(socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)


def reopened(descriptor: int) -> int:
    """Open the reading end of a pipe a second time, for reading without blocking."""
    return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


# --- values -------------------------------------------------------------------------------------------------


def by_reference(value: object, apart: Apart | None = None) -> bytes:
    """Pickle a value for a process that can import this program's main module."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 5, buffer_callback=apart)
    pickler.dispatch_table = reducers()
    try:
        pickler.dump(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        from coldfork.launch.pool.by_value.sender import dumps

        return dumps(value, apart, main_by_value=False)
    return file.getvalue()


def by_value(value: object, apart: Apart | None = None) -> bytes:
    """Pickle a value for processes that cannot import this program's main module, such as a notebook's."""
    from coldfork.launch.pool.by_value.sender import dumps

    return dumps(value, apart, main_by_value=True)


def pack(value: object, dumps: Dumps = by_reference, *, keep: bool = False) -> Payload:
    """Pack a value to be sent; raise the error of `pickle` if that is impossible.

    With `keep` the packed value stays in this process's memory, and needs no descriptor until it is opened.
    """
    buffers: list[pickle.PickleBuffer] = []

    def apart(buffer: pickle.PickleBuffer) -> bool:
        """Return False, which keeps a large buffer out of the pickle, or True to leave it inside."""
        try:
            small = buffer.raw().nbytes < _APART or len(buffers) >= _MOST_APART
        except BufferError:
            # The buffer is not contiguous.
            return True
        if not small:
            buffers.append(buffer)
        return small

    data = dumps(value, apart)
    if not buffers and len(data) <= INLINE:
        return Payload(data)
    contents: list[bytes | memoryview] = []
    layout: list[tuple[int, int, bool]] = []
    """For each piece, its position, its length, and whether it is read-only."""
    position = 0
    pieces: list[bytes | memoryview] = [data, *(buffer.raw() for buffer in buffers)]
    for piece in pieces:
        gap = -position % _ALIGNMENT
        if gap:
            contents.append(bytes(gap))
        position += gap
        contents.append(piece)
        layout.append((position, len(piece), isinstance(piece, memoryview) and piece.readonly))
        position += len(piece)
    if keep:
        return Payload(pickle.dumps(layout), kept=tuple(bytes(content) for content in contents))
    return Payload(pickle.dumps(layout), channel.holding("coldfork", *contents))


def unpack(data: bytes | memoryview, memory: int = -1) -> Any:
    """Unpack the value of a payload, and close the memory file."""
    if memory == LOST:
        raise LostDescriptorError
    if memory < 0:
        return pickle.loads(data)
    layout: list[tuple[int, int, bool]] = pickle.loads(data)
    try:
        # A private mapping, because other workers may be sent the same file and must not see changes.
        pages = memoryview(mmap.mmap(memory, os.fstat(memory).st_size, access=mmap.ACCESS_COPY))
    finally:
        os.close(memory)
    pieces = [pages[begin : begin + length] for begin, length, _ in layout]
    buffers = [
        piece.toreadonly() if sealed else piece
        for piece, (_, _, sealed) in zip(pieces[1:], layout[1:], strict=True)
    ]
    return pickle.loads(pieces[0], buffers=buffers)


# --- tasks --------------------------------------------------------------------------------------------------


def together(tasks: Sequence[Task]) -> int:
    """Return how many of the first tasks fit into one message."""
    size = count = 0
    for task in tasks:
        if task.payload.is_large:
            return count or 1
        size += len(task.payload.data) + _TASK.size
        if count and (size > INLINE or count >= _MOST_TOGETHER):
            break
        count += 1
    return count


def send_tasks(to: socket.socket, permits: FileIO, tasks: Sequence[Task]) -> None:
    """Send tasks to a worker in one message; if there is no room, send nothing and raise `OSError`."""
    content = b"".join([task_message(task) for task in tasks])
    send(to, content, tasks[0].payload.memory, AT_ONCE)
    permits.write(b"".join([PERMIT.pack(task.number) for task in tasks]))


def task_message(task: Task) -> bytes:
    """Return one task in the format of a message."""
    return _TASK.pack(task.number, len(task.payload.data)) + task.payload.data


def tasks_in(content: bytes) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the data of each task in a message."""
    view, position = memoryview(content), 0
    while position < len(content):
        number, length = _TASK.unpack_from(content, position)
        position += _TASK.size
        yield number, view[position : position + length]
        position += length


# --- answers ------------------------------------------------------------------------------------------------


def answer(pipe: int, over: socket.socket, kind: int, number: int, payload: Payload, seconds: float) -> None:
    """Send an answer; raise `BrokenPipeError` if there is no reader."""
    data = payload.data
    if payload.memory >= 0:
        send(over, PERMIT.pack(number) + data, payload.memory)
        kind, data = kind | LARGE, b""
    frame = memoryview(_ANSWER.pack(_BEGIN, kind, len(data), number, seconds) + data + _END)
    while frame:
        frame = frame[os.write(pipe, frame) :]


def end_of_worker(status: int) -> bytes:
    """Return the frame that reports a worker's exit status."""
    return _ANSWER.pack(_BEGIN, ENDED, 0, status, 0.0) + _END


def large(over: socket.socket, number: int) -> tuple[bytes, int] | None:
    """Receive the announced answer's data and memory file; None if another message came instead."""
    try:
        message = receive(over, socket.MSG_DONTWAIT)
    except BlockingIOError:
        message = None
    if message is None or message[0][: PERMIT.size] != PERMIT.pack(number):
        return None
    return message[0][PERMIT.size :], message[1]


class Answers:
    """A reader of the frames that a worker writes into its pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._rest = b""
        self.is_garbled: bool = False
        """Whether something else has written to the pipe, so that later answers cannot be trusted."""

    def read(self) -> list[tuple[int, int, float, bytes]] | None:
        """Return the frames that have arrived, as kind, number, seconds and data; None at the pipe's end."""
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
            mark, kind, length, number, seconds = _ANSWER.unpack_from(content, position)
            self.is_garbled = mark != _BEGIN or kind not in _KINDS or length > INLINE
            begin = position + _ANSWER.size
            if self.is_garbled or end - begin < length + len(_END):
                break
            position = begin + length + len(_END)
            self.is_garbled = content[begin + length : position] != _END
            if self.is_garbled:
                break
            frames.append((kind, number, seconds, content[begin : begin + length]))
        self._rest = content[position:]
        return frames


# --- exceptions ---------------------------------------------------------------------------------------------


def raised(error: BaseException) -> Payload:
    """Pack an exception, with its traceback, to be sent.

    An exception that cannot be pickled and unpickled is sent as its name and message.
    """
    try:
        content = by_reference(error)
        comes_back = isinstance(pickle.loads(content), BaseException)
    except BaseException:
        comes_back = False
    try:
        said = str(error)
    except Exception:
        said = ""
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    named = f"{name}: {said}" if said else name
    return pack((content if comes_back else None, named, "".join(traceback.format_exception(error))))


def arrived(data: bytes, memory: int) -> BaseException:
    """Return an exception that a worker has sent."""
    # Imported here, because callers have it loaded already, and workers do not need it.
    from coldfork.launch.pool.errors import RemoteError, RemoteTraceback

    content, named, text = unpack(data, memory)
    error: BaseException
    try:
        if content is None:
            raise pickle.UnpicklingError
        error = pickle.loads(content)
    except BaseException:
        error = RemoteError(f"the task raised {named}, which cannot be sent to this process")
    error.__cause__ = RemoteTraceback(f'\n"""\n{text}"""')
    return error


def outcome(data: memoryview, memory: int) -> tuple[int, Payload]:
    """Do a task; return how it ended, and its packed result."""
    try:
        function, arguments, keywords = unpack(data, memory)
        return RETURNED, pack(function(*arguments, **keywords))
    except BaseException as error:
        leave_out_first_frame(error)
        return RAISED, raised(error)


def ended(kind: int, data: bytes, memory: int) -> tuple[object, BaseException | None]:
    """Return a task's result and None, or None and the error that it raised."""
    try:
        return (unpack(data, memory), None) if kind == RETURNED else (None, arrived(data, memory))
    except BaseException as error:
        from coldfork.launch.pool.errors import RemoteError

        said = f"the task's result cannot be read in this process: {type(error).__name__}: {error}"
        unreadable = RemoteError(said)
        unreadable.__cause__ = error
        return None, unreadable


# --- messages -----------------------------------------------------------------------------------------------


def send(to: socket.socket, content: bytes, memory: int = -1, flags: int = _QUIETLY) -> None:
    """Send a message with a memory file, which stays open here."""
    if memory < 0:
        to.send(content, flags)
    else:
        channel.send_bytes(to, content, (memory,), flags)


def receive(source: socket.socket, flags: int = 0) -> tuple[bytes, int] | None:
    """Receive the next message and its memory file; None if the other end is closed."""
    received = channel.receive_bytes(source, _ROOM, 1, flags)
    if received is None:
        return None
    content, descriptors, lost = received
    return content, descriptors[0] if descriptors else LOST if lost else -1
