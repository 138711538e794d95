"""Blocks of equal size by key, in memory that several processes read and write at once.

Each block has a slot with a lock of its own: held by who writes it, shared by who reads it. The lock on the
index is held only while a slot is looked for. A process that is killed loses its locks, and what it was
writing is not marked as whole: nobody reads it, and the next who needs a slot takes it.

The locks are between processes. In a process with several threads one of them must speak to the store.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

from sharing.blocks import KEY_BYTES
from sharing.memory import Memory

EMPTY, WRITING, WHOLE = range(3)
_CHECK_BYTES = 16
_SLOT = struct.Struct(f"<BQ{KEY_BYTES}s{_CHECK_BYTES}s")
_CLOCK = struct.Struct("<Q")
_INDEX = 0
"""The byte that stands for the index; the one of a slot is one more than its number."""


class Store:
    """Hand it to a process as an argument, and the process shares it."""

    def __init__(self, slots: int, block: int) -> None:
        self.slots = slots
        self.block = block
        self._blocks_at = _CLOCK.size + slots * _SLOT.size
        self._memory = Memory(self._blocks_at + slots * block, f"kv-cache-{os.getpid()}")

    def put(self, key: bytes, fill: Callable[[memoryview], None]) -> bool:
        """Have `fill` write a block, unless it is there or being written, or no slot can be had."""
        slot = self._reserve(key)
        if slot is None:
            return False
        whole = False
        try:
            memory = self._memory_of(slot)
            fill(memory)
            check = self._at(slot) + _SLOT.size - _CHECK_BYTES
            self._memory.bytes[check : check + _CHECK_BYTES] = _check(memory)
            # The last of all: from here on it is whole.
            whole = True
        finally:
            self._set_state(slot, WHOLE if whole else EMPTY)
            self._memory.unlock(1 + slot)
        return True

    def get(self, key: bytes) -> bytearray | None:
        """A copy of a block; None if it is not there, or not whole."""
        with self._index():
            slot = self._find(key, WHOLE)
            if slot is None or not self._memory.lock(1 + slot, shared=True, wait=False):
                return None
            self._touch(slot)
        try:
            block = bytearray(self._memory_of(slot))
            return block if _check(block) == self._slot(slot)[3] else None
        finally:
            self._memory.unlock(1 + slot)

    def states(self) -> list[int]:
        """Return the state of each slot."""
        return [self._slot(slot)[0] for slot in range(self.slots)]

    def _reserve(self, key: bytes) -> int | None:
        """A slot that is ours to write, locked and marked as being written."""
        with self._index():
            if self._find(key, WHOLE) is not None:
                return None
            for slot in self._by_worth():
                # Who writes or reads it holds its lock; of a writer who was killed only the mark is left.
                if self._memory.lock(1 + slot, wait=False):
                    self._mark(slot, WRITING, key, bytes(_CHECK_BYTES))
                    self._touch(slot)
                    return slot
                if self._slot(slot)[0] == WRITING and self._slot(slot)[2] == key:
                    return None
        return None

    def _by_worth(self) -> list[int]:
        """Return slots being written, or left so by a dead writer, then empty ones, then by last use."""
        order = {WRITING: 0, EMPTY: 1, WHOLE: 2}
        return sorted(range(self.slots), key=lambda slot: (order[self._slot(slot)[0]], self._slot(slot)[1]))

    def _find(self, key: bytes, state: int) -> int | None:
        for slot in range(self.slots):
            found, _, held, _ = self._slot(slot)
            if found == state and held == key:
                return slot
        return None

    @contextmanager
    def _index(self) -> Iterator[None]:
        self._memory.lock(_INDEX)
        try:
            yield
        finally:
            self._memory.unlock(_INDEX)

    def _touch(self, slot: int) -> None:
        (now,) = _CLOCK.unpack_from(self._memory.bytes)
        _CLOCK.pack_into(self._memory.bytes, 0, now + 1)
        _CLOCK.pack_into(self._memory.bytes, self._at(slot) + 1, now + 1)

    def _mark(self, slot: int, state: int, key: bytes, check: bytes) -> None:
        used = self._slot(slot)[1]
        _SLOT.pack_into(self._memory.bytes, self._at(slot), state, used, key, check)

    def _set_state(self, slot: int, state: int) -> None:
        self._memory.bytes[self._at(slot)] = state

    def _slot(self, slot: int) -> tuple[int, int, bytes, bytes]:
        return _SLOT.unpack_from(self._memory.bytes, self._at(slot))

    def _at(self, slot: int) -> int:
        return _CLOCK.size + slot * _SLOT.size

    def _memory_of(self, slot: int) -> memoryview:
        start = self._blocks_at + slot * self.block
        return self._memory.bytes[start : start + self.block]


def _check(block: memoryview | bytearray) -> bytes:
    return blake2b(block, digest_size=_CHECK_BYTES).digest()
