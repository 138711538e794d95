"""Which captured batch runs in place of one that is asked for, answered in constant time.

A `Rule` says which kinds of batch may stand in for the wanted one, the best first. Of a kind, the smallest
that has room is taken. The table of what is captured is made when something was captured or released, so that
asking costs one search in a sorted list the first time and one look-up from then on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from coldfork.graphs.descriptors import ROOM, BatchDescriptor, Mode

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
    """What is captured, sorted so that the smallest batch with room is found at once."""

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
