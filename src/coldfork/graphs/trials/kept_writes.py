"""Writes to memory that outlives a run; they are compared like results, even if not returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.leaks.reachable_values import is_tensor, roots_of, spots
from coldfork.graphs.trials.beginning import Beginning, View, plainly, view_of
from coldfork.graphs.trials.results import disagreements
from coldfork.model.states import Frame
from coldfork.virtual.capturing.records import Place, as_frame

_LARGEST = 64 << 20
"""Larger tensors are not copied whole; only the written part is compared, if it is small enough."""
_LARGEST_OF_BEFORE = 1 << 20
"""The limit for older memory, of which all that the graph writes is compared."""


@dataclass(frozen=True, slots=True)
class Write:
    """One operator's write to memory that is still in use at the end of the run."""

    name: str
    where: Frame | None
    part: View
    values: Any = None
    """The contents of that part at the end; None if it is too large."""

    @property
    def kind(self) -> tuple[str, Frame | None]:
        """The operator and its line. They are the same for the same call in another run."""
        return self.name, self.where

    def __str__(self) -> str:
        line = f" at {self.where.path}:{self.where.line}" if self.where is not None else ""
        return f"what {self.name} writes{line}"


@dataclass(slots=True)
class Kept:
    """The writes of a run to memory that is still in use after the run."""

    writes: list[Write] = field(default_factory=list)
    paths: dict[str, Any] = field(default_factory=dict)
    """The tensors in memory that the run allocated, by their path in the program."""


@dataclass(slots=True)
class Matched:
    """A graph's writes, matched with the writes of a fresh run."""

    values: dict[str, Any] = field(default_factory=dict)
    """The values that the replay left, by their names in the fresh run."""
    excused: set[str] = field(default_factory=set)
    """Names, among these and older memory, that need not agree because the same was written elsewhere."""
    accumulating: set[str] = field(default_factory=set)
    """Names of memory that the graph updates, but whose initial value is unknown, as it is not older
    memory.
    """
    alone: tuple[str, ...] = ()
    """Writes without a counterpart in the fresh run."""


class WriteLog:
    """A log of the tensors that each operator of a run wrote; it keeps no memory alive."""

    def __init__(self) -> None:
        self._writes: dict[tuple[str, Place | None, View], None] = {}
        self._alive: dict[int, StorageWeakRef] = {}

    def note(self, name: str, place: Place | None, tensors: Iterable[Any]) -> None:
        """Record that an operator writes these tensors."""
        for tensor in tensors:
            if not is_readable(tensor):
                continue
            part = view_of(plainly(tensor))
            if part.key not in self._alive:
                self._alive[part.key] = StorageWeakRef(tensor.untyped_storage())
            entry = name, place, part
            self._writes.pop(entry, None)  # a later write to the same part replaces this one
            self._writes[entry] = None

    def clear(self) -> None:
        """Discard all entries."""
        self._writes.clear()
        self._alive.clear()

    def kept(self, forward: Any, state: Any, output: Any, beginning: Beginning) -> Kept:
        """Return the writes to memory that is still in use, except memory of returned tensors."""
        returned = keys_in(output)
        storages = {
            key: storage
            for key, weak in self._alive.items()
            if key not in returned
            and (storage := torch.UntypedStorage._new_with_weak_ptr(weak.cdata)) is not None
        }
        told = Kept()
        for name, place, part in self._writes:
            storage = storages.get(part.key)
            if storage is not None:
                values = _values(part, storage, beginning)
                told.writes.append(Write(name, as_frame(place), part, values))
        made = {key for key in storages if not beginning.holds(key)}
        told.paths = {path: one.detach().clone() for path, one in _by_path(forward, state, made)}
        return told


def match(
    mine: Sequence[tuple[Write, Any]],
    fresh: Kept,
    by_place: Mapping[int, str],
    found: Iterable[tuple[str, Any]],
    continued: frozenset[int],
) -> Matched:
    """Match a graph's writes and their storages with the writes of the same operators in a fresh run.

    `by_place` names the older memory that is compared by its position; `found` are the tensors of this
    process by path; `continued` is the memory that the graph reads before it writes to it.
    """
    pairs = _aligned([write.kind for write, _ in mine], [write.kind for write in fresh.writes])
    paths = {key_of(tensor): (path, tensor) for path, tensor in found if path in fresh.paths}
    told = Matched()
    alone: list[str] = []
    for key in dict.fromkeys(write.part.key for write, _ in mine):
        of_key = [(number, *one) for number, one in enumerate(mine) if one[0].part.key == key]
        known = [
            (pairs[number], write.part.on(storage))
            for number, write, storage in of_key
            if number in pairs and fresh.writes[pairs[number]].values is not None
        ]
        values = {f"kept {number}": part.clone() for number, part in known}
        theirs = {f"kept {number}": fresh.writes[number].values for number, _ in known}
        complete = len(known) == len(of_key)
        if key in by_place:
            alike = all(
                number in pairs and _alike(write.part, fresh.writes[pairs[number]].part)
                for number, write, _ in of_key
            )
            if complete and alike and not disagreements(theirs, values):
                told.excused.add(by_place[key])
            continue
        path, tensor = paths.get(key, ("", None))
        if path:
            other = fresh.paths[path]
            agrees = not disagreements({"": other}, {"": plainly(tensor).detach()})
            if not complete:
                values = {f"path {path}": plainly(tensor).detach().clone()}
            elif agrees:
                told.excused.update(values)
        elif not complete:
            alone += [str(write) for _, write, _ in of_key][:1]
        told.values.update(values)
        if key in continued:
            told.accumulating.update(values)
    told.alone = tuple(dict.fromkeys(alone))
    return told


def named(kept: Kept) -> dict[str, Any]:
    """Return the values of a run's kept writes, by the names under which they are compared."""
    values = {f"kept {number}": write.values for number, write in enumerate(kept.writes)}
    return {**values, **{f"path {path}": one for path, one in kept.paths.items()}}


def described(name: str, kept: Kept) -> str:
    """Return a description of the value with such a name."""
    kind, _, rest = name.partition(" ")
    return str(kept.writes[int(rest)]) if kind == "kept" else rest


def keys_in(output: Any) -> set[int]:
    """Return the keys of the memory that returned tensors use."""
    if is_tensor(output):
        return {key_of(output)} if is_readable(output) else set()
    return {key_of(one.value) for one in spots({"": output}) if is_readable(one.value)}


def found_in(forward: Any, state: Any, keys: set[int]) -> list[tuple[str, Any]]:
    """Return the tensors in some memory, with their paths in the program."""
    return list(_by_path(forward, state, keys))


def _by_path(forward: Any, state: Any, keys: set[int]) -> Iterator[tuple[str, Any]]:
    seen = set[str]()
    for spot in spots(roots_of(forward, state)) if keys else ():
        if is_readable(spot.value) and key_of(spot.value) in keys and spot.path not in seen:
            seen.add(spot.path)
            if spot.value.numel() * spot.value.element_size() <= _LARGEST:
                yield spot.path, spot.value


def _values(part: View, storage: Any, beginning: Beginning) -> Any:
    tensor = part.on(storage)
    most = _LARGEST_OF_BEFORE if beginning.holds(part.key) else _LARGEST
    return tensor.clone() if tensor.numel() * tensor.element_size() <= most else None


def _aligned(mine: Sequence[object], theirs: Sequence[object]) -> dict[int, int]:
    found: dict[int, int] = {}
    for block in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
        found.update(
            zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True)
        )
    return found


def _alike(one: View, other: View) -> bool:
    return (one.dtype, one.offset, one.shape, one.stride) == (
        other.dtype, other.offset, other.shape, other.stride,
    )  # fmt: skip
