"""How a payload travels through Ray: what is large goes beside Ray's pickle, by its object store."""

from __future__ import annotations

import mmap
import os
from pickle import PickleBuffer

from coldfork.launch.pool.transport.payloads import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Parcel: TypeAlias = tuple[bytes, tuple[Any, ...]]
    """The pickle, and what the memory file beside it is to hold."""


def sent(payload: Payload) -> Parcel:
    """What is handed to Ray, which copies it."""
    if payload.memory >= 0:
        size = os.fstat(payload.memory).st_size
        pages = mmap.mmap(payload.memory, size, access=mmap.ACCESS_READ)
        return payload.data, (PickleBuffer(pages),)
    return payload.data, tuple(PickleBuffer(piece) for piece in payload.kept)


def received(parcel: Parcel) -> Payload:
    """What has come out of Ray, in a memory file of its own: it is neither read-only nor bound to a node."""
    data, pieces = parcel
    payload = Payload(data, kept=tuple(memoryview(piece).cast("B") for piece in pieces))
    payload.open()
    return payload
