"""The memory of captured graphs: what uses it, and the poison that it holds before the first write."""

from __future__ import annotations

import struct
import weakref
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch

_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_C01D_0000_0000))[0]
"""A NaN with a payload that no arithmetic produces, and that survives the conversion to shorter types."""

_BYTE = 0xA5
"""The value of every byte of a poisoned integer."""


def poison_value(dtype: Any) -> Any:
    """Return the poison value of a type; None if only bytes can serve as poison."""
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
        poison_storage(tensor.untyped_storage(), tensor.dtype)
    else:
        tensor.fill_(value)


def poison_storage(storage: Any, dtype: Any) -> None:
    """Fill a whole storage with the poison of a type."""
    flat = torch.empty(0, dtype=dtype).set_(storage)
    value = poison_value(dtype)
    if value is None:
        # 0x7f is a NaN in all eight-bit floats except those without a negative zero, whose NaN is 0x80.
        flat.view(torch.uint8).fill_(0x80 if "uz" in str(dtype) else 0x7F)
    else:
        flat.fill_(value)


def is_poisoned(tensor: Any) -> bool:
    """Return whether the first element of a tensor holds poison; True if only bytes can serve as poison."""
    value = poison_value(tensor.dtype)
    if value is None or not tensor.numel():
        return True
    first = tensor[(0,) * tensor.dim()]
    return bool(first.isnan() if value != value else first == value)


_uses = torch._C._storage_Use_Count


class Kind(StrEnum):
    """The origin of the memory that a captured region uses."""

    POOL = "pool"
    """It was allocated in the captured region."""
    OUTSIDE = "outside"
    """It existed before the capture: parameters, buffers, inputs, the remains of a warm-up run."""
    CONSTANT = "constant"
    """A value that the host knew during the capture; it is fixed in the graph."""


class Block:
    """One storage of torch, and the number of references to it that graphs hold."""

    __slots__ = ("graphs", "held", "key", "nbytes", "storage")

    def __init__(self, storage: Any) -> None:
        self.storage: Any = storage
        self.key: int = int(storage._cdata)
        self.nbytes: int = int(storage.nbytes())
        self.held: int = 1
        """Starts at 1, because the storage's Python object counts as a reference."""
        self.graphs: int = 0

    def is_free(self) -> bool:
        """Return True if neither the program's tensors nor autograd use the block any more."""
        return bool(_uses(self.key) <= self.held)


@dataclass(slots=True, eq=False, repr=False)
class Memory:
    """One allocation that a captured region uses; many tensors and views may share it."""

    serial: int
    """The number of the allocation in its graph; a block that is used twice is two allocations."""
    kind: Kind
    block: Block
    born: int | None
    """The number of the record that allocated it; None if it is not memory of the pool."""
    dtype: Any
    """The type in which it was first used."""
    held: int = 0
    freed: bool = False
    """True once the program has released outside memory that the graph still uses."""

    @property
    def key(self) -> int:
        """The `tensor.untyped_storage()._cdata` of each tensor that uses this memory."""
        return self.block.key

    @property
    def storage(self) -> Any:
        """Torch's storage."""
        return self.block.storage

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return int(self.block.storage.nbytes())

    def poison_if_freed(self) -> None:
        """Poison this memory if a device could have reused it for another allocation by now."""
        # A storage that cannot be resized has another owner, such as a numpy array.
        if self.kind is Kind.OUTSIDE and not self.freed and self.block.is_free() and self.storage.resizable():
            self.freed = True
            poison_storage(self.storage, self.dtype)

    def __repr__(self) -> str:
        return f"<{self.kind} memory {self.serial}, {self.nbytes} bytes>"


class Holdings:
    """The references that this process's graphs hold to blocks, counted separately from the program's."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._gone: deque[list[Memory]] = deque()

    def block(self, storage: Any) -> Block:
        """Return the block of a storage."""
        block = self._blocks.get(storage._cdata)
        if block is None:
            block = self._blocks[storage._cdata] = Block(storage)
        return block

    def watch(self, graph: object, memories: list[Memory]) -> None:
        """Count a graph's references until the graph is deleted."""
        for memory in memories:
            memory.block.graphs += 1
        # A graph may be deleted at any point in any thread, so the next call of `settle` does the counting.
        weakref.finalize(graph, self._gone.append, memories).atexit = False

    def release(self, memories: list[Memory]) -> None:
        """Record that a graph has dropped its references."""
        self._gone.append(memories)

    def settle(self) -> None:
        """Subtract the references of graphs that have been deleted."""
        # Called before each allocation.
        while self._gone:
            memories = self._gone.popleft()
            for memory in memories:
                block = memory.block
                block.held -= memory.held
                block.graphs -= 1
                if not block.graphs and self._blocks.get(block.key) is block:
                    del self._blocks[block.key]
            memories.clear()


class Poisoning:
    """The poisoning of the memory that one capture allocates.

    Nothing is computed during a capture, so memory that was poisoned once keeps its poison until the end. It
    is not filled again when the region reuses it.
    """

    __slots__ = ("_holding",)

    def __init__(self) -> None:
        self._holding: dict[int, Any] = {}

    def fill(self, tensor: Any, block: Block, value: Any) -> None:
        """Fill a new tensor with poison; if `value` is None, fill its storage byte by byte."""
        dtype = tensor.dtype
        if self._holding.get(block.key) is dtype:
            return
        if value is None:
            poison(tensor)
        else:
            tensor.fill_(value)
        whole = value is None or tensor.numel() * dtype.itemsize == block.nbytes
        self._holding[block.key] = dtype if whole else None


class Pool:
    """A pool of memory that graphs share, because none needs it while another one runs."""

    __slots__ = ("_alive", "_free", "graphs")

    def __init__(self) -> None:
        self.graphs: int = 0
        """The number of graphs captured with the pool."""
        self._alive = weakref.WeakSet[Any]()
        self._free: dict[int, deque[Block]] = {}

    @property
    def gone(self) -> bool:
        """Whether the pool had graphs, none of which is left."""
        return bool(self.graphs) and not self._alive

    def enter(self, graph: Any) -> None:
        """Record that another graph was captured with this pool."""
        self.graphs += 1
        self._alive.add(graph)

    def leave(self, graph: Any) -> None:
        """Record that a graph has released its memory."""
        self._alive.discard(graph)

    @property
    def nbytes(self) -> int:
        """The number of bytes that all graphs of the pool have allocated."""
        return sum(block.nbytes for blocks in self._free.values() for block in blocks)

    def add(self, block: Block) -> None:
        """Keep a block for reuse."""
        self._free.setdefault(block.nbytes, deque()).append(block)

    def take(self, nbytes: int) -> Block | None:
        """Return a block of this size that is no longer needed."""
        blocks = self._free.get(nbytes)
        if blocks:
            for _ in range(min(len(blocks), 4)):
                block = blocks[0]
                blocks.rotate(-1)
                if block.is_free():
                    return block
        return None
