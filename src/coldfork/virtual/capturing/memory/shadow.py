"""What each byte of a graph's memory owes to uninitialised memory, kept beside the bytes themselves."""

from __future__ import annotations

from typing import Any

import torch

from coldfork.virtual.capturing.memory.ownership import Kind, Memory
from coldfork.virtual.capturing.memory.poison import poison_value

CLEAN = 0
"""Computed from what was there."""
UNWRITTEN = 1
"""Nothing was written here."""
TAINTED = 2
"""From here on: the number of the record that read something unwritten, plus this."""

_TELLING = 4
"""From this many bytes on, an integer that holds poison does so for no other reason."""


class Shadow:
    """One number for each byte of the memory of a graph."""

    def __init__(self) -> None:
        self._codes: dict[Memory, Any] = {}

    def of(self, memory: Memory, tensor: Any) -> Any:
        """The codes of a tensor's elements, with one more dimension for the bytes of each."""
        codes = self._codes.get(memory)
        if codes is None:
            codes = self._codes[memory] = _first_codes(memory, tensor.dtype)
        size = tensor.dtype.itemsize
        return codes.as_strided(
            (*tensor.shape, size),
            (*[step * size for step in tensor.stride()], 1),
            tensor.storage_offset() * size,
        )

    def write(self, memory: Memory, tensor: Any, code: int, where: Any = None) -> None:
        """Set the codes of a tensor's elements, or of those for which `where` holds."""
        codes = self.of(memory, tensor)
        for dimension, step in enumerate(tensor.stride()):
            if step == 0 and tensor.shape[dimension] > 1:
                # The same bytes again and again: once is enough, and more is refused.
                codes = codes.narrow(dimension, 0, 1)
                where = where.narrow(dimension, 0, 1) if where is not None else None
        if where is None:
            codes.copy_(torch.tensor(code, dtype=codes.dtype).expand(codes.shape))
        else:
            codes.copy_(torch.where(where.unsqueeze(-1), code, codes))


def lowest(codes: Any, at_least: int) -> int | None:
    """The smallest code that is not below a bound: the earliest record, or None."""
    found = codes[codes >= at_least]
    return int(found.min()) if found.numel() else None


def _first_codes(memory: Memory, dtype: Any) -> Any:
    start = UNWRITTEN if memory.kind is Kind.POOL else CLEAN
    codes = torch.full((memory.nbytes,), start, dtype=torch.int32)
    if memory.kind is Kind.OUTSIDE and dtype.itemsize >= min(_TELLING, 2 if dtype.is_floating_point else 4):
        flat = torch.empty(0, dtype=dtype).set_(memory.storage)
        held = holds_poison(flat)
        spread = held.unsqueeze(-1).expand(*held.shape, dtype.itemsize).reshape(-1)
        codes[: spread.numel()].masked_fill_(spread, UNWRITTEN)
    return codes


def holds_poison(tensor: Any) -> Any:
    """Which elements hold the very bits that capture poisons memory with."""
    kind = tensor.dtype
    if kind is torch.bool or kind.itemsize == 1:
        return torch.zeros(tensor.shape, dtype=torch.bool)
    if kind.is_complex:
        return holds_poison(torch.view_as_real(tensor.resolve_conj())).all(-1)
    pattern = torch.tensor(poison_value(kind), dtype=kind)
    if not kind.is_floating_point:
        return tensor == pattern
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[kind.itemsize]
    return tensor.contiguous().view(bits) == pattern.view(bits)
