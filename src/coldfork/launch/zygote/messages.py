"""What a caller, its server and the workers tell each other, and the descriptors that they hand over.

Short messages go over sockets that keep them apart; what may be long goes into a memory file whose descriptor
travels with the message. None of the sockets has a name: they are reached by inheriting them alone.
"""

from __future__ import annotations

import array
import socket

from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Message = dict[str, Any]

LONGEST = 65_536
"""No message is longer than this."""
RAISED = "raised"
STAINED = "stained"
"""What may be wrong with a module: its import raised, or left a process that must not fork."""
MOST_DESCRIPTORS = 253
"""So many the kernel lets one message carry."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets that keep messages apart."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(to: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send a message with descriptors; `OSError` if nobody is there to read it."""
    carried = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    to.sendmsg([encode(message)], carried, socket.MSG_NOSIGNAL)


def receive(source: socket.socket, flags: int = 0) -> tuple[Message, list[int]] | None:
    """The next message and its descriptors; None when the other end is gone."""
    room = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
    try:
        content, carried, *_ = source.recvmsg(LONGEST, room, socket.MSG_CMSG_CLOEXEC | flags)
    except ConnectionResetError:
        return None
    descriptors = array.array("i")
    for level, kind, data in carried:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if not content:
        return None
    return decode(content.decode("ascii")), list(descriptors)
