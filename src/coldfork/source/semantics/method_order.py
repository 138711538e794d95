"""The order in which Python searches classes for an attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

C = TypeVar("C")
Found = TypeVar("Found")


class Member(NamedTuple, Generic[C, Found]):
    """What a class has under a name, itself or through a base."""

    holder: C
    """The class that has it."""
    value: Found


class Hierarchy(ABC, Generic[C, Found]):
    """Classes with their bases: the only method order of the analyser."""

    @abstractmethod
    def order(self, cls: C) -> Sequence[C]:
        """A class and its bases, in the order in which Python searches them."""

    @abstractmethod
    def held(self, cls: C, name: str) -> Found | None:
        """What one class itself has under a name."""

    def behind(self, cls: C, after: C) -> Iterator[C]:
        """The classes that `super()` in `after` searches."""
        order = iter(self.order(cls))
        for base in order:
            if base == after:
                break
        return order

    def member(self, cls: C, name: str, after: C | None = None) -> Member[C, Found] | None:
        """What the first class that has a name has under it."""
        held = self.held
        for base in self.order(cls) if after is None else self.behind(cls, after):
            found = held(base, name)
            if found is not None:
                return Member(base, found)
        return None


def linearised(cls: C, bases: Sequence[C], orders: Sequence[Sequence[C]]) -> tuple[C, ...]:
    """Python's order for a class with these bases, each of which has an order of its own."""
    if len(bases) == 1:
        return (cls, *orders[0])  # most classes: nothing to merge
    return (cls, *_merged([*map(list, orders), list(bases)]))


def _merged(orders: list[list[C]]) -> list[C]:
    """The C3 merge; where the bases contradict each other, the first comes first."""
    merged: list[C] = []
    while orders := [order for order in orders if order]:
        heads = (order[0] for order in orders)
        head = next((one for one in heads if not any(one in other[1:] for other in orders)), orders[0][0])
        merged.append(head)
        orders = [[one for one in order if one is not head and one != head] for order in orders]
    return merged
