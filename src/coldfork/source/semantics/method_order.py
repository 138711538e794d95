"""The order in which Python searches classes for an attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

C = TypeVar("C")
Found = TypeVar("Found")


class Hierarchy(ABC, Generic[C, Found]):
    """Classes with their bases: the only method order of the analyser."""

    @abstractmethod
    def order(self, cls: C) -> Sequence[C]:
        """A class and its bases, in the order in which Python searches them."""

    @abstractmethod
    def held(self, cls: C, name: str) -> Found | None:
        """What one class itself has under a name."""

    def behind(self, cls: C, after: C | None = None) -> Iterator[C]:
        """The classes that are searched; for `super()` in `after`, those behind it."""
        order = iter(self.order(cls))
        if after is not None:
            for base in order:
                if base == after:
                    break
        return order

    def definition(self, cls: C, name: str, after: C | None = None) -> tuple[C, Found] | None:
        """The first class that has a name, and what it has."""
        for base in self.behind(cls, after):
            found = self.held(base, name)
            if found is not None:
                return base, found
        return None


def linearised(cls: C, bases: Sequence[C], orders: Sequence[Sequence[C]]) -> tuple[C, ...]:
    """Python's order for a class with these bases, each of which has an order of its own."""
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
