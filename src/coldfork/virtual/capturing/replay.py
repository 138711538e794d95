"""The execution of a captured graph, and the search for its first read of uninitialised memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from coldfork.model.states import Frame
from coldfork.virtual.capturing.memory import Kind, Memory, poison_storage, poison_value
from coldfork.virtual.capturing.operators.schemas import fresh_in
from coldfork.virtual.capturing.records import Record, RecordedRegion, Use, written
from coldfork.virtual.errors import CaptureError, ReplayError

_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


@contextmanager
def below() -> Iterator[None]:
    """Run the block below autograd, autocast and modes, which have acted already at the recording."""
    with (
        _disable_current_modes(),
        torch._C._AutoDispatchBelowADInplaceOrView(),
        torch._C._ExcludeDispatchKeyGuard(_AUTOCAST),
        torch._C.DisableTorchFunction(),
    ):
        yield


def execute(records: Iterable[Record]) -> None:
    """Run the records in order."""
    with below():
        record = None
        try:
            for record in records:
                record.call(*record.args, **record.kwargs)
        except Exception as error:
            if record is None:
                raise
            raise ReplayError(
                f"replaying {record.name}, captured at {written(record.where)}, failed: {error}"
            ) from error


def require_sizes(records: Iterable[Record]) -> None:
    """After the first replay, check that each operator's results have the size that the capture expected."""
    for record in records:
        fresh = list(fresh_in(record.plan.results, record.operator))
        for use, expected in zip(record.wrote[len(record.wrote) - len(fresh) :], fresh, strict=False):
            if tuple(use.tensor.shape) != expected.size:
                raise ReplayError(
                    f"{record.name}, captured at {written(record.where)}, gave its result the size "
                    f"{tuple(use.tensor.shape)}, but capture had expected {expected.size}"
                )


_PARTIAL = (
    "index_put",
    "_index_put_impl",
    "index_copy",
    "index_fill",
    "scatter",
    "masked_",
    "put_",
    "_scatter",
)
"""Operators that write only some elements of a tensor."""


@dataclass(frozen=True, slots=True)
class PoisonRead:
    """The first operator that read memory before anything was written to it."""

    operator: str
    """Its name; empty if nothing ever wrote to the tensor in question."""
    where: Frame | None
    """The line of the program that called it."""
    memory: Memory
    """The memory it read."""
    allocated: Frame | None
    """The line that allocated the memory, if that happened in the captured region."""
    state: str
    """The fault in the memory, in words."""

    def __str__(self) -> str:
        allocated = f" (allocated at {written(self.allocated)})" if self.allocated else ""
        if not self.operator:
            return f"nothing in the graph writes this memory{allocated}"
        return f"{self.operator} at {written(self.where)} reads memory that {self.state}{allocated}"


def explain(graph: RecordedRegion, tensor: Any) -> PoisonRead | None:
    """Return the first read of poison, found by a replay with a shadow; restore memory and random numbers."""
    target = _target(graph, tensor) if tensor is not None else None
    with torch.no_grad(), below(), _as_it_was(graph):
        shadow = Shadow()
        reads: dict[int, tuple[Record, Use]] = {}
        for memory in graph.memories:
            if memory.kind is Kind.POOL:
                poison_storage(memory.storage, memory.dtype)
        for record in graph.records:
            try:
                _step(record, shadow, reads)
            except ReplayError:
                if record.number not in reads:
                    raise
                return _poison_read(graph, *reads[record.number])
        if target is None:
            return _poison_read(graph, *reads[min(reads)]) if reads else None
        codes = shadow.of(target.memory, target.tensor)
        first = lowest(codes, TAINTED)
        if first is not None:
            return _poison_read(graph, *reads[first - TAINTED])
        if lowest(codes, UNWRITTEN) is not None:
            return PoisonRead("", None, target.memory, _born(graph, target.memory), _state(target.memory))
        return None


def _step(record: Record, shadow: Shadow, reads: dict[int, tuple[Record, Use]]) -> None:
    """Execute one record, and pass the taint of unwritten memory on to the memory that it writes."""
    partial = any(word in record.name for word in _PARTIAL)
    kept = [
        (use, use.tensor.clone())
        for use in record.wrote
        if use in record.spared or (partial and _given(record, use))
    ]
    into = {id(use.tensor) for use, _ in kept}
    code = CLEAN
    for use in record.read:
        if id(use.tensor) in into:
            continue
        codes = shadow.of(use.memory, use.tensor)
        if lowest(codes, UNWRITTEN) == UNWRITTEN:
            reads.setdefault(record.number, (record, use))
            code = record.number + TAINTED
            break
        earliest = lowest(codes, TAINTED)
        if earliest is not None:
            code = min(code or earliest, earliest)
    execute([record])
    before = {id(use.tensor): old for use, old in kept}
    for use in record.wrote:
        old = before.get(id(use.tensor))
        changed = _differs(old, use.tensor) if old is not None else None
        if code != CLEAN and (use.tensor.is_floating_point() or use.tensor.is_complex()):
            poisoned = use.tensor.isnan()
            if changed is None:
                shadow.write(use.memory, use.tensor, CLEAN)
                shadow.write(use.memory, use.tensor, code, poisoned)
            else:
                shadow.write(use.memory, use.tensor, CLEAN, changed)
                shadow.write(use.memory, use.tensor, code, changed & poisoned)
        else:
            shadow.write(use.memory, use.tensor, code, changed)


def _given(record: Record, use: Use) -> bool:
    """Return whether a written tensor was passed to the operator, and is not a new result."""
    return any(use.tensor is one.tensor for one in record.read)


def _differs(old: Any, new: Any) -> Any:
    changed = old != new
    if new.is_floating_point() or new.is_complex():
        changed &= ~(old.isnan() & new.isnan())
    return changed


def _target(graph: RecordedRegion, tensor: Any) -> Use:
    key = tensor.untyped_storage()._cdata
    for memory in reversed(graph.memories):
        if memory.key == key:
            return Use(memory, tensor.detach())
    raise CaptureError("the graph neither reads nor writes the memory of this tensor")


def _poison_read(graph: RecordedRegion, record: Record, use: Use) -> PoisonRead:
    return PoisonRead(record.name, record.where, use.memory, _born(graph, use.memory), _state(use.memory))


def _born(graph: RecordedRegion, memory: Memory) -> Frame | None:
    return graph.records[memory.born].where if memory.born is not None else None


def _state(memory: Memory) -> str:
    if memory.kind is Kind.POOL:
        return "nothing in the graph has written before"
    if memory.freed:
        return "the program freed after the capture"
    return "holds poison: the work that fills it was captured and has not been replayed"


@contextmanager
def _as_it_was(graph: RecordedRegion) -> Iterator[None]:
    """At the end of the block, restore everything that the replay has changed."""
    state = torch.default_generator.get_state()
    storages = {memory.key: memory.storage for memory in graph.memories}
    kept = [(storage, storage.clone()) for storage in storages.values()]
    try:
        yield
    finally:
        for storage, copy in kept:
            storage.copy_(copy)
        torch.default_generator.set_state(state)


CLEAN = 0
"""The byte was computed from valid content."""
UNWRITTEN = 1
"""Nothing was written to the byte."""
TAINTED = 2
"""Codes from here on: this number plus that of the record that read something unwritten."""

_TELLING = 4
"""In an integer of at least this many bytes, the poison pattern cannot be a coincidence."""


class Shadow:
    """One number, the code, for each byte of a graph's memory, to follow where poison is read."""

    def __init__(self) -> None:
        self._codes: dict[Memory, Any] = {}

    def of(self, memory: Memory, tensor: Any) -> Any:
        """Return the codes of a tensor's elements, with one more dimension for the bytes of each."""
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
        """Set the codes of a tensor's elements, or of those for which `where` is true."""
        codes = self.of(memory, tensor)
        for dimension, step in enumerate(tensor.stride()):
            if step == 0 and tensor.shape[dimension] > 1:
                # An expanded dimension repeats the same bytes, and torch refuses to write them repeatedly.
                codes = codes.narrow(dimension, 0, 1)
                where = where.narrow(dimension, 0, 1) if where is not None else None
        if where is None:
            codes.copy_(torch.tensor(code, dtype=codes.dtype).expand(codes.shape))
        else:
            codes.copy_(torch.where(where.unsqueeze(-1), code, codes))


def lowest(codes: Any, at_least: int) -> int | None:
    """Return the smallest code that is not below a bound, which is the earliest record; None without one."""
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
    """Return which elements contain exactly the bits with which the capture poisons memory."""
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
