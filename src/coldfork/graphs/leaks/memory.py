"""The last writer of each byte of memory, and whether the written value depends on the batch."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy

from coldfork.model.states import Frame


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """One run of the program's code, with its batch and its purpose."""

    descriptor: str
    kind: str
    """`build warm-up`, `warm-up`, `build capture`, `capture` or `graph`."""

    @property
    def warms(self) -> bool:
        """Whether the run is part of the warm-up, on which graphs must not depend."""
        return self.kind.endswith("warm-up")

    def __str__(self) -> str:
        return f"the {self.kind} of {self.descriptor}"


BEFORE = 0
"""Stands for the writer of memory from before the watch."""
NOTHING = 1
"""Stands for the writer of memory that was allocated but never written."""
_NO_DISPATCH = torch._C._disabled_torch_dispatch_impl
_MOST_STRETCHES = 64
_SMALL = 1 << 20
"""Up to this many cells are allocated at once; larger arrays take memory only where they are written."""


class Writer(NamedTuple):
    """One operator that wrote memory, and the run in which it did."""

    name: str
    where: Frame | None
    run: CheckedRun | None
    depends: bool
    """Whether the written values depend on the batch."""


def key_of(tensor: Any) -> int:
    """Return a number that identifies a tensor's memory for as long as it exists."""
    return int(tensor.untyped_storage()._cdata)


def has_memory(tensor: Any) -> bool:
    """Return whether a tensor has a single storage, so that its writers can be tracked."""
    return isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and not tensor.is_quantized


def is_readable(tensor: Any) -> bool:
    """Return whether a tensor can be compared: this process can read and write its single storage.

    A subclass of tensors may add methods, but must not change how operators are dispatched.
    """
    kind = type(tensor)
    if not issubclass(kind, torch.Tensor) or kind.__torch_dispatch__ is not _NO_DISPATCH or is_lazy(tensor):
        return False
    with torch._C.DisableTorchFunctionSubclass():
        return has_memory(tensor) and tensor.device.type == "cpu"


class Ledger:
    """A record of the last writer of every byte."""

    def __init__(self) -> None:
        self.writers: list[Writer] = [
            Writer("what was there", None, None, False),
            Writer("nothing", None, None, True),
        ]
        self._pages: dict[int, _Page] = {}

    def new_writer(self, writer: Writer) -> int:
        """Register a writer, and return its number."""
        self.writers.append(writer)
        return len(self.writers) - 1

    def write(self, tensor: Any, writer: int) -> None:
        """Record that a writer overwrites the elements of a tensor."""
        if tensor.numel():
            self._page(tensor).write(tensor, writer)

    def last_writers(self, tensor: Any) -> list[int]:
        """Return the last writers of a tensor's elements."""
        if tensor.numel() == 0:
            return []
        page = self._pages.get(key_of(tensor))
        return [BEFORE] if page is None else page.writers(tensor)

    def writers_of(self, key: int) -> list[int]:
        """Return the last writers of every part of a storage."""
        page = self._pages.get(key)
        return [BEFORE] if page is None else page.all_writers()

    def forget_dead(self) -> None:
        """Drop the entries of memory that has been freed."""
        for key in [key for key, page in self._pages.items() if page.alive.expired()]:
            del self._pages[key]

    def _page(self, tensor: Any) -> _Page:
        storage = tensor.untyped_storage()
        page = self._pages.get(storage._cdata)
        if page is None or page.nbytes < storage.nbytes():
            page = self._pages[storage._cdata] = _Page(storage, tensor.element_size(), page)
        return page


class _Page:
    """The last writers of one storage: by ranges of bytes, or else by cells of the smallest
    element's size.
    """

    def __init__(self, storage: Any, unit: int, smaller: _Page | None) -> None:
        self.alive = StorageWeakRef(storage)
        self.nbytes = int(storage.nbytes())
        self._unit = unit
        self._stretches: list[tuple[int, int, int]] = [(0, self.nbytes, BEFORE)]
        """The start, end and writer of each contiguous range; unused once there are cells."""
        self._cells: Any = None
        if smaller is not None:  # the storage has grown since this page was made
            self._unit = smaller._unit
            self._stretches = [*smaller._stretches, (smaller.nbytes, self.nbytes, NOTHING)]
            if smaller._cells is not None:
                self._cells = _cells(-(-self.nbytes // self._unit), NOTHING)
                self._cells[: -(-smaller.nbytes // self._unit)] = smaller._cells

    def write(self, tensor: Any, writer: int) -> None:
        stretch = _stretch(tensor)
        if stretch == (0, self.nbytes):
            self._stretches, self._cells = [(0, self.nbytes, writer)], None
            return
        if self._cells is None and (stretch is None or len(self._stretches) >= _MOST_STRETCHES):
            found = self.all_writers()
            if found == [writer]:
                return
            self._cells = self._as_cells()
        if self._cells is not None:
            self._region(tensor).fill_(writer)
        elif stretch is not None:
            first, last = stretch
            before = [(low, min(high, first), one) for low, high, one in self._stretches if low < first]
            after = [(max(low, last), high, one) for low, high, one in self._stretches if high > last]
            self._stretches = [*before, (first, last, writer), *after]

    def writers(self, tensor: Any) -> list[int]:
        if self._cells is not None:
            return _distinct(self._region(tensor))
        stretch = _stretch(tensor)
        if stretch is None and len(self._stretches) > 1:
            self._cells = self._as_cells()
            return _distinct(self._region(tensor))
        first, last = stretch or (0, self.nbytes)
        return sorted({one for low, high, one in self._stretches if low < last and high > first})

    def all_writers(self) -> list[int]:
        return sorted({one for *_, one in self._stretches}) if self._cells is None else _distinct(self._cells)

    def _as_cells(self) -> Any:
        every = {0, self.nbytes} | {edge for low, high, _ in self._stretches for edge in (low, high)}
        if any(edge % self._unit for edge in every - {self.nbytes}):
            self._unit = 1
        cells = _cells(-(-self.nbytes // self._unit), self._stretches[0][2])
        for low, high, writer in self._stretches[1:]:
            cells[low // self._unit : -(-high // self._unit)] = writer
        return cells

    def _region(self, tensor: Any) -> Any:
        """Return the cells of a tensor's elements."""
        item = tensor.element_size()
        if item % self._unit:
            finer = 1 if self._unit % item else item
            self._cells = self._cells.repeat_interleave(self._unit // finer)
            self._unit = finer
        parts = item // self._unit
        return self._cells.as_strided(
            (*tensor.shape, parts),
            (*(stride * parts for stride in tensor.stride()), 1),
            tensor.storage_offset() * parts,
        )


def _stretch(tensor: Any) -> tuple[int, int] | None:
    """Return the start and end of a tensor's bytes, if they are contiguous."""
    if not tensor.is_contiguous():
        return None
    size = tensor.element_size()
    first = tensor.storage_offset() * size
    return first, first + tensor.numel() * size


def _cells(number: int, value: int) -> Any:
    if number <= _SMALL or value:
        return torch.full((number,), value, dtype=torch.int32)
    # This costs little, because the system allocates each page only when it is first written.
    return torch.frombuffer(mmap.mmap(-1, number * 4), dtype=torch.int32)


def _distinct(cells: Any) -> list[int]:
    lowest, highest = (int(one) for one in torch.aminmax(cells))
    if cells.numel() <= _SMALL:
        return [lowest] if lowest == highest else [int(one) for one in cells.unique()]
    found = [lowest]
    while found[-1] < highest:
        found.append(int(cells[cells > found[-1]].min()))
    return found
