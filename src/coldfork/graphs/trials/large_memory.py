"""Memory that is too large to send between processes: it is filled by mapping a file, and compared by pages.

A copy of this process maps a few random pages, repeatedly and privately, over all of it. Then only pages that
are written to take memory, and the system knows which ones these are.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

LARGE = 4 << 20
"""Memory from this size on is mapped, not copied."""
_PAGE = mmap.PAGESIZE
_PERIOD = 1021 * _PAGE
"""The period of the values; it is not a power of two, so that no two blocks of a cache are equal."""
_FIXED = 0x10
_PRESENT, _SWAPPED, _OF_FILE = 63, 62, 61
"""Bits in the system's entry for each page of a process."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The values for some large memory, determined by a type and a seed."""

    dtype: Any
    seed: int

    @property
    def nbytes(self) -> int:
        """Zero, because the values repeat and take almost no memory."""
        return 0

    def pages(self, numbers: Any) -> Any:
        """Return some of the pattern's pages, as rows of bytes."""
        return _values(self.dtype, self.seed).view(-1, _PAGE)[numbers % (_PERIOD // _PAGE)]


@dataclass(frozen=True, slots=True)
class Pages:
    """The changed pages of some memory, and the two ends of this memory that do not fill a page."""

    numbers: Any
    """The page numbers, ascending."""
    values: Any
    """A row of bytes for each of these pages."""
    ends: Any


def takes_pattern(dtype: Any) -> bool:
    """Return whether any bytes are valid values of a type, as for floating-point numbers and raw bytes."""
    return bool(dtype.is_floating_point or dtype in (torch.int8, torch.uint8))


def is_large(storage: Any) -> bool:
    """Return whether some memory is large enough to be mapped, and the system allows that."""
    return storage is not None and storage.nbytes() >= LARGE and sys.platform.startswith("linux")


def fill(storage: Any, pattern: Pattern) -> None:
    """Map the values over some memory, in place of its contents; call this only in a copy of the process."""
    first, last = _whole_pages(storage)
    start = storage.data_ptr()
    values = _values(pattern.dtype, pattern.seed)
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    file = _file_of(pattern.dtype, pattern.seed).number
    for position in range(first, last, _PERIOD):
        _map(position, min(_PERIOD, last - position), file)
    for begin, end in ((0, first - start), (last - start, storage.nbytes())):
        whole[begin:end].copy_(values[: end - begin])


def changed(storage: Any, pattern: Pattern) -> Pages:
    """Return the pages that differ from the values that `fill` mapped."""
    first, last = _whole_pages(storage)
    start = storage.data_ptr()
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    numbers = _written_pages(first, last) if _system_tells() else _other_pages(whole, first, last, pattern)
    return Pages(
        numbers,
        _rows(whole, first - start, last - start)[numbers],
        torch.cat([whole[: first - start], whole[last - start :]]),
    )


def put_back(storage: Any, pages: Pages) -> None:
    """Write these pages to the same memory in this process."""
    first, last = _whole_pages(storage)
    base = first - storage.data_ptr()
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    _rows(whole, base, last - storage.data_ptr())[pages.numbers] = pages.values
    whole[:base].copy_(pages.ends[:base])
    whole[last - storage.data_ptr() :].copy_(pages.ends[base:])


def side_by_side(pattern: Pattern, one: Pages, other: Pages) -> tuple[Any, Any]:
    """Return the pages that either of two runs changed, with the values of both runs."""
    numbers = torch.cat([one.numbers, other.numbers]).unique()
    both = []
    for pages in (one, other):
        rows = pattern.pages(numbers)
        rows[torch.searchsorted(numbers, pages.numbers)] = pages.values
        both.append(_as(pattern.dtype, [rows.reshape(-1), pages.ends]))
    return both[0], both[1]


def _rows(whole: Any, begin: int, end: int) -> Any:
    return whole[begin:end].view(-1, _PAGE)


def _as(dtype: Any, parts: Iterable[Any]) -> Any:
    flat = torch.cat(list(parts))
    size = dtype.itemsize
    return flat[: flat.numel() // size * size].clone().view(dtype)


@cache
def _values(dtype: Any, seed: int) -> Any:
    """Return the bytes of one period of a pattern, which repeats."""
    chance = torch.Generator().manual_seed(seed)
    number = _PERIOD // dtype.itemsize
    if not dtype.is_floating_point:
        return torch.randint(0, 256, (_PERIOD,), generator=chance, dtype=torch.uint8)
    sizes = torch.randint(1, 12, (number,), generator=chance, dtype=torch.int8) + 0.25
    signs = torch.randint(2, (number,), generator=chance, dtype=torch.int8) * 2 - 1
    return (sizes * signs).to(dtype).view(torch.uint8)


class _File:
    """A temporary file with one period of a pattern, for mapping; open as long as this object exists."""

    def __init__(self, values: Any) -> None:
        self.number = os.memfd_create("coldfork-values")
        with memoryview(_bytes(values)) as content:
            os.write(self.number, content)

    def __del__(self) -> None:
        os.close(self.number)


@cache
def _file_of(dtype: Any, seed: int) -> _File:
    return _File(_values(dtype, seed))


def keep(patterns: Iterable[Pattern]) -> None:
    """Make the files of these patterns now, for all later copies of this process."""
    for pattern in patterns:
        _file_of(pattern.dtype, pattern.seed)


def forget() -> None:
    """Free the files that `keep` made."""
    _file_of.cache_clear()
    _values.cache_clear()


def _bytes(flat: Any) -> bytes:
    return ctypes.string_at(flat.data_ptr(), flat.numel())


def _whole_pages(storage: Any) -> tuple[int, int]:
    start = storage.data_ptr()
    return -(-start // _PAGE) * _PAGE, (start + storage.nbytes()) // _PAGE * _PAGE


def _map(address: int, length: int, file: int) -> None:
    system = _system()
    writable = mmap.PROT_READ | mmap.PROT_WRITE
    got = system.mmap(address, length, writable, mmap.MAP_PRIVATE | _FIXED, file, 0)
    if got != address:
        raise OSError(ctypes.get_errno(), "memory could not be mapped")


@cache
def _system() -> Any:
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_size_t
    numbers = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    system.mmap.argtypes = numbers
    return system


def _written_pages(first: int, last: int) -> Any:
    """Return the pages to which this process has written, so that it no longer shares them with the file."""
    with Path("/proc/self/pagemap").open("rb", buffering=0) as told:
        told.seek(first // _PAGE * 8)
        entries = torch.frombuffer(bytearray(told.read((last - first) // _PAGE * 8)), dtype=torch.int64)
    there = ((entries >> _PRESENT) & 1) | ((entries >> _SWAPPED) & 1)
    written = (there == 1) & (((entries >> _OF_FILE) & 1) == 0)
    return written.nonzero().reshape(-1)


def _other_pages(whole: Any, first: int, last: int, pattern: Pattern) -> Any:
    """Find the changed pages by comparing every page, on systems that do not report written pages."""
    base = first - whole.data_ptr()
    values = _values(pattern.dtype, pattern.seed)
    found = [torch.zeros(0, dtype=torch.int64)]
    for position in range(0, last - first, _PERIOD):
        here = whole[base + position : base + min(position + _PERIOD, last - first)]
        apart = (here != values[: here.numel()]).view(-1, _PAGE).any(1).nonzero().reshape(-1)
        found.append(apart + position // _PAGE)
    return torch.cat(found)


@cache
def _system_tells() -> bool:
    """Return whether the system reports written pages, according to a trial with two pages."""
    file = os.memfd_create("coldfork-trial")
    try:
        os.ftruncate(file, 2 * _PAGE)
        with mmap.mmap(file, 2 * _PAGE, flags=mmap.MAP_PRIVATE) as memory:
            memory[_PAGE] = 1 + memory[0]
            view = ctypes.c_char.from_buffer(memory)
            address = ctypes.addressof(view)
            try:
                return bool(_written_pages(address, address + 2 * _PAGE).tolist() == [1])
            except (OSError, ValueError, RuntimeError):
                return False
            finally:
                del view
    finally:
        os.close(file)
