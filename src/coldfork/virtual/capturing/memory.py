"""The memory of captured graphs: where it came from, and the poison it holds until something is computed."""

from __future__ import annotations

import struct
from enum import StrEnum
from typing import Any

import torch

_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_C01D_0000_0000))[0]
"""A NaN whose payload no arithmetic produces by itself; it survives the conversion to shorter types."""

_BYTE = 0xA5
"""What every byte of a poisoned integer holds."""


class Kind(StrEnum):
    """Where the memory that a captured region uses came from."""

    POOL = "pool"
    """It was allocated in the captured region."""
    OUTSIDE = "outside"
    """It was there before: parameters, buffers, inputs, what a warm-up run left behind."""
    CONSTANT = "constant"
    """A value that the host knew while capturing; it is baked into the graph."""


class Memory:
    """One allocation that a captured region uses, however many tensors and views lie in it."""

    __slots__ = ("born", "kind", "serial", "storage")

    def __init__(self, serial: int, kind: Kind, storage: Any, born: int | None) -> None:
        self.serial = serial
        """Counts the allocations of a graph, so that a storage used twice is two of them."""
        self.kind = kind
        self.storage = storage
        """Torch's storage; it holds the bytes as long as the graph lives."""
        self.born = born
        """The number of the record that allocated it, for memory of the pool."""

    @property
    def key(self) -> int:
        """What `tensor.untyped_storage()._cdata` is for each tensor that lies in it."""
        return int(self.storage._cdata)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return int(self.storage.nbytes())

    def __repr__(self) -> str:
        return f"<{self.kind} memory {self.serial}, {self.nbytes} bytes>"


class Pool:
    """Memory that graphs share, because none of them needs it while another one runs."""

    __slots__ = ("graphs",)

    def __init__(self) -> None:
        self.graphs = 0
        """How many graphs were captured with it."""


def poison_value(dtype: Any) -> Any:
    """What an element of this type holds while nothing was computed into it; None where bytes must do."""
    if dtype.is_complex:
        return complex(_NAN, _NAN)
    if dtype.is_floating_point:
        return _NAN if dtype.itemsize > 1 else None
    if dtype is torch.bool:
        return True
    return int.from_bytes(bytes([_BYTE]) * dtype.itemsize, "little", signed=dtype.is_signed)


def poison(tensor: Any) -> None:
    """Fill a tensor's elements with poison."""
    value = poison_value(tensor.dtype)
    if value is None or 0 in tensor.stride():
        poison_bytes(tensor)
    else:
        tensor.fill_(value)


def poison_bytes(tensor: Any) -> None:
    """Fill the whole storage of a tensor with the poison of its type."""
    flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    value = poison_value(tensor.dtype)
    if value is None:
        # 0x7f is a NaN in every float of eight bits but those without a zero sign, where it is large.
        flat.view(torch.uint8).fill_(0x80 if "uz" in str(tensor.dtype) else 0x7F)
    else:
        flat.fill_(value)


def allocate(size: Any, stride: Any, dtype: Any) -> Any:
    """A new tensor that holds poison."""
    tensor = torch.empty_strided(size, stride, dtype=dtype)
    poison(tensor)
    return tensor
