"""Batches, modes and states of captures, and which captured batch another batch can run in."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from operator import attrgetter
from typing import Any, Protocol, Self


class Mode(Enum):
    """How much of a forward pass is captured in graphs."""

    NONE = "none"
    """Nothing: it runs eagerly."""
    PIECEWISE = "piecewise"
    """The parts marked with `piece`; the code between them runs eagerly."""
    FULL = "full"
    """The whole pass, in one graph."""


class Phase(Enum):
    """The purpose of a forward function."""

    WARMUP = "warmup"
    """To run eagerly, so that everything that is initialised on first use gets initialised."""
    CAPTURE = "capture"
    """To be captured; it must not use anything that the warm-up initialised."""


@dataclass(frozen=True)
class BatchDescriptor:
    """The batch for which a graph is captured; subclass it to distinguish more batches."""

    mode: Mode
    tokens: int
    """The number of tokens that the graph computes; a smaller batch is padded to it."""
    requests: int | None = None
    """The number of requests in the batch, if the graph depends on it."""
    uniform_tokens: int | None = None
    """The number of tokens in each request, if all have the same number."""
    loras: int = field(default=0, kw_only=True)
    """The most adapters that the graph can use; it also serves batches with fewer adapters or none."""
    longest_query: int | None = field(default=None, kw_only=True)
    """The most tokens that a request may have, if the graph depends on it."""
    microbatches: int = field(default=1, kw_only=True)
    """The number of parts into which the batch is split; they run side by side."""

    def covers(self, wanted: BatchDescriptor) -> bool:
        """Return whether the batch `wanted` can be padded to this one."""
        if type(self) is not type(wanted) or self.tokens < wanted.tokens or self.loras < wanted.loras:
            return False
        return (
            _has_room(self.requests, wanted.requests)
            and _has_room(self.longest_query, wanted.longest_query)
            and all(
                getattr(self, one.name) == getattr(wanted, one.name)
                for one in fields(self)
                if one.name not in ROOM
            )
        )

    def joined(self, *others: Self) -> Self:
        """Return the common batch of all ranks in a data-parallel group, from the batch of each rank.

        It has room for the largest one. It is uniform if all have the same uniform number of tokens, and runs
        in a full graph if all do.
        """
        everyone = (self, *others)
        uniform = {one.uniform_tokens for one in everyone}
        return replace(
            self,
            mode=min((one.mode for one in everyone), key=list(Mode).index),
            tokens=max(one.tokens for one in everyone),
            requests=_largest([one.requests for one in everyone]),
            uniform_tokens=self.uniform_tokens if len(uniform) == 1 else None,
            loras=max(one.loras for one in everyone),
            longest_query=_largest([one.longest_query for one in everyone]),
            microbatches=min(one.microbatches for one in everyone),
        )

    @property
    def size(self) -> tuple[int, int, int]:
        """The sort key by size, tokens first; a batch without a longest query allows queries of any
        length.
        """
        return self.tokens, self.requests or 0, self.longest_query or sys.maxsize

    def __str__(self) -> str:
        told = [self.mode.name, f"tokens={self.tokens}"]
        for one in fields(self)[2:]:
            value = getattr(self, one.name)
            if value is not None and value != one.default:
                told.append(f"{one.name}={value}")
        return " ".join(told)


ROOM = frozenset({"tokens", "requests", "loras", "longest_query"})
"""The fields in which a captured batch may be larger than the one that runs in it."""


def _has_room(captured: int | None, wanted: int | None) -> bool:
    return captured is None or (wanted is not None and wanted <= captured)


def _largest(numbers: list[int | None]) -> int | None:
    """Return the largest of some numbers, or None if any of them is unknown."""
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None


@dataclass(frozen=True, slots=True)
class StatePair:
    """Two separate objects: the state for the warm-up, and the state for the capture."""

    warmup: Any
    capture: Any

    def of(self, phase: Phase) -> Any:
        """Return the state made for a phase."""
        return self.warmup if phase is Phase.WARMUP else self.capture


Forward = Callable[[Mode], Any]
"""Runs a forward pass on the buffers that it was made for; the mode says whether and how to capture it."""


class CreateForward(Protocol):
    """A function of the caller that makes a forward function and its state, both new for each phase."""

    def __call__(self, descriptor: BatchDescriptor, phase: Phase, /) -> tuple[Forward, Any]:
        """Return the state for this batch and phase, and a function that runs the batch."""


class CreateForwardOn(Protocol):
    """A function of the caller that makes a forward function for the state of another manager."""

    def __call__(self, descriptor: BatchDescriptor, phase: Phase, state: Any, /) -> tuple[Forward, Any]:
        """Return the forward function; `state` is the other manager's state for this batch and phase."""


Rule = Callable[[BatchDescriptor], Iterable[BatchDescriptor]]
"""Yields the batches that may run in place of a wanted batch, the best first; each may involve padding."""

_MOST_REMEMBERED = 1 << 16


def in_place_of(wanted: BatchDescriptor) -> Iterator[BatchDescriptor]:
    """Yield the batches that a manager may by default run in place of the wanted one.

    A uniform batch runs in a graph for uniform batches or, failing that, in one for mixed batches with as
    many tokens. If there is no full graph, it runs in pieces.
    """
    mixed = replace(wanted, uniform_tokens=None)
    yield wanted
    if mixed != wanted:
        yield mixed
    if wanted.mode is Mode.FULL:
        yield replace(mixed, mode=Mode.PIECEWISE)


class Table:
    """The captured batches, sorted so that the smallest one with room is found quickly.

    A new table is made after each capture or release. The first query for a batch searches a sorted list;
    later ones look up the remembered answer.
    """

    __slots__ = ("_answers", "_captured", "_kinds", "_rule")

    def __init__(self, captured: Iterable[BatchDescriptor], rule: Rule) -> None:
        self._rule = rule
        self._captured = frozenset(captured)
        self._kinds: dict[Any, list[tuple[int, list[BatchDescriptor]]]] = {}
        self._answers: dict[BatchDescriptor, BatchDescriptor | None] = {one: one for one in self._captured}
        sorted_by_kind: dict[Any, dict[int, list[BatchDescriptor]]] = {}
        for one in sorted(self._captured, key=attrgetter("size")):
            sorted_by_kind.setdefault(_kind(one), {}).setdefault(one.loras, []).append(one)
        for kind, by_loras in sorted_by_kind.items():
            self._kinds[kind] = sorted(by_loras.items())

    def find(self, wanted: BatchDescriptor) -> BatchDescriptor | None:
        """Return the captured batch in which to run a batch; None if the batch has to run eagerly."""
        try:
            return self._answers[wanted]
        except KeyError:
            pass
        answer = next((found for one in self._rule(wanted) if (found := self._padded(one))), None)
        if len(self._answers) >= _MOST_REMEMBERED:
            self._answers = {one: one for one in self._captured}
        self._answers[wanted] = answer
        return answer

    def _padded(self, wanted: BatchDescriptor) -> BatchDescriptor | None:
        """Return the smallest captured batch of the same kind that has room, with the fewest adapters."""
        for loras, sizes in self._kinds.get(_kind(wanted), ()):
            if loras < wanted.loras:
                continue
            first = bisect_left(sizes, wanted.tokens, key=attrgetter("tokens"))
            for one in sizes[first:]:
                if one.covers(wanted):
                    return one
        return None


def _kind(descriptor: BatchDescriptor) -> tuple[Any, ...]:
    """Return the fields in which a batch must equal any batch that it is padded to."""
    same = (getattr(descriptor, field.name) for field in fields(descriptor) if field.name not in ROOM)
    return (type(descriptor), *same)
