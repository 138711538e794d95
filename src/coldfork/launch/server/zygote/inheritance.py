"""What a worker has of the server that forked it: a context under the same name, for workers of its own."""

from __future__ import annotations

from coldfork.launch.server.zygote.handle import Zygote
from coldfork.launch.server.zygote.processes import register

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any


def inherit(asking: socket.socket, terms: dict[str, Any]) -> None:
    """Register the context of the server behind this socket."""
    register(Zygote(terms, asking).context)
