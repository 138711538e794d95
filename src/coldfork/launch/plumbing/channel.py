"""Messages between a caller, its server and the workers, and the descriptors sent along with them.

Short messages go over sockets that preserve message boundaries; long data goes into a memory file whose
descriptor travels with the message. None of the sockets has a name: only processes that inherit them can
reach them.
"""

from __future__ import annotations

import array
import os
import resource
import socket
from errno import EFBIG

from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Message = dict[str, Any]

LONGEST = 65_536
"""The largest size of a message, in bytes."""
RAISED = "raised"
STAINED = "stained"
"""The faults of a module: its import raised an error, or left a process that must not fork."""
MOST_DESCRIPTORS = 253
"""The most descriptors that the kernel lets one message carry."""
_NUMBER = array.array("i").itemsize
# Plain integers: combining enumeration members takes longer than sending a message.
_QUIETLY = int(socket.MSG_NOSIGNAL)
_CLOSED_ON_EXEC = int(socket.MSG_CMSG_CLOEXEC)


def pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that preserve message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(to: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send a message with descriptors; raise `OSError` if there is no reader."""
    send_bytes(to, encode(message), descriptors)


def receive(source: socket.socket, flags: int = 0) -> tuple[Message, list[int]] | None:
    """Receive the next message and its descriptors; None if the other end is closed."""
    received = receive_bytes(source, LONGEST, MOST_DESCRIPTORS, flags)
    return None if received is None else (decode(received[0].decode("ascii")), received[1])


def send_bytes(to: socket.socket, content: bytes, descriptors: Sequence[int], flags: int = _QUIETLY) -> None:
    """Send bytes with descriptors, which stay open in this process; raise `OSError` if there is no reader."""
    carried = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    to.sendmsg([content], carried, flags)


def receive_bytes(
    source: socket.socket, most: int, descriptors: int, flags: int = 0
) -> tuple[bytes, list[int], bool] | None:
    """Receive bytes, their descriptors, and whether any of these were lost; None if the other end is closed.

    Descriptors are lost if this process may not open any more.
    """
    room, flags = socket.CMSG_SPACE(descriptors * _NUMBER), _CLOSED_ON_EXEC | flags
    try:
        content, carried, arrived, _ = source.recvmsg(most, room, flags)
    except ConnectionResetError:
        # If the other end was closed with unread data, this error comes first, but its last messages can
        # still be read.
        try:
            content, carried, arrived, _ = source.recvmsg(most, room, flags)
        except ConnectionResetError:
            return None
    if not content:
        return None
    numbers = array.array("i")
    for _, _, data in carried:
        numbers.frombytes(data[: len(data) - len(data) % _NUMBER])
    return content, list(numbers), bool(arrived & socket.MSG_CTRUNC)


def holding(name: str, *contents: bytes | memoryview) -> int:
    """Return the descriptor of a memory file with these contents, positioned at its beginning."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        for content in contents:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError) and error.errno == EFBIG:
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
            said = (
                "cannot pass data to another process: it goes through a file, and this process may "
                f"write {most} bytes to a file"
            )
            raise OSError(EFBIG, f"{os.strerror(EFBIG)}: {said} (RLIMIT_FSIZE)") from None
        raise
    return descriptor
