"""A graph's subject: a batch, the mode, each phase's state; and which runs in place of a batch."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from operator import attrgetter
from typing import Any, Protocol, Self


class Mode(Enum):
    """How much of a forward pass lies in a graph."""

    NONE = "none"
    """Nothing: it runs eagerly."""
    PIECEWISE = "piecewise"
    """The parts given to `GraphManager.piece`; what lies between them runs eagerly."""
    FULL = "full"
    """All of it, in one graph."""


class Phase(Enum):
    """Why a forward function is being made."""

    WARMUP = "warmup"
    """To be run eagerly once, so that everything that initialises itself on first use has done so."""
    CAPTURE = "capture"
    """To be captured; nothing that the warm-up initialised may be taken for granted."""


@dataclass(frozen=True)
class BatchDescriptor:
    """The batch that a graph is captured for; derive from it to tell more batches apart."""

    mode: Mode
    tokens: int
    """How many tokens the graph computes; a smaller batch is padded to it."""
    requests: int | None = None
    """How many requests the batch holds, where the graph depends on it."""
    uniform_tokens: int | None = None
    """How many tokens each request has, where it is the same for all."""
    loras: int = field(default=0, kw_only=True)
    """How many adapters the graph has room for; it serves batches with fewer, or with none."""
    longest_query: int | None = field(default=None, kw_only=True)
    """How many tokens a request may have at most, where the graph depends on it."""
    microbatches: int = field(default=1, kw_only=True)
    """Into how many parts the batch is cut, each of which runs beside the others."""

    def covers(self, wanted: BatchDescriptor) -> bool:
        """True when a batch like `wanted` can be padded to this one."""
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
        """The batch that all ranks of a data-parallel group run when each has one of these.

        It has room for the largest, is uniform where all are alike, and lies in a full graph where all do.
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
        """What makes a graph large: tokens first. Without a longest query it is made for all lengths."""
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
    """The largest, or None where one of them is not known."""
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None


@dataclass(frozen=True, slots=True)
class StatePair:
    """The state that was made for warming up, and the one that was captured; never the same object."""

    warmup: Any
    capture: Any

    def of(self, phase: Phase) -> Any:
        """The one of a phase."""
        return self.warmup if phase is Phase.WARMUP else self.capture


Forward = Callable[[Mode], Any]
"""Runs a forward pass on the buffers it was made for; the mode says what is being captured around it."""


class CreateForward(Protocol):
    """Makes a forward function and the state it uses, anew for each phase."""

    def __call__(self, descriptor: BatchDescriptor, phase: Phase, /) -> tuple[Forward, Any]:
        """Build state for this batch and phase, and a function that runs it."""


class CreateForwardOn(Protocol):
    """Makes a forward function that works on another manager's state, given to it for each phase."""

    def __call__(self, descriptor: BatchDescriptor, phase: Phase, state: Any, /) -> tuple[Forward, Any]:
        """Make the function; `state` is the other manager's for the same batch and phase."""


Rule = Callable[[BatchDescriptor], Iterable[BatchDescriptor]]
"""Gives the batches that may run in place of a wanted one, the best first; each is padded on its own."""

_MOST_REMEMBERED = 1 << 16


def in_place_of(wanted: BatchDescriptor) -> Iterator[BatchDescriptor]:
    """The rule that managers follow unless they are given another.

    A uniform batch runs as one, else as a mixed batch of as many tokens; what has no full graph runs in
    pieces.
    """
    mixed = replace(wanted, uniform_tokens=None)
    yield wanted
    if mixed != wanted:
        yield mixed
    if wanted.mode is Mode.FULL:
        yield replace(mixed, mode=Mode.PIECEWISE)


class Table:
    """The graphs that are captured, sorted so that the smallest batch with room is found at once.

    It is made when something was captured or released, so that asking costs one search in a sorted list the
    first time and one look-up from then on.
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
        """The captured batch that runs in place of this one; None where it has to run eagerly."""
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
        """The smallest captured batch of the same kind that has room, with as few adapters as will do."""
        for loras, sizes in self._kinds.get(_kind(wanted), ()):
            if loras < wanted.loras:
                continue
            first = bisect_left(sizes, wanted.tokens, key=attrgetter("tokens"))
            for one in sizes[first:]:
                if one.covers(wanted):
                    return one
        return None


def _kind(descriptor: BatchDescriptor) -> tuple[Any, ...]:
    """What a batch and the one that it is padded to have in common."""
    same = (getattr(descriptor, field.name) for field in fields(descriptor) if field.name not in ROOM)
    return (type(descriptor), *same)
