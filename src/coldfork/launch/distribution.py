"""Count values by range as they arrive, cheaply enough to count every task of a pool."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BOUNDS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0, 7200.0)
"""In seconds: from a task that does nothing to a script that trains for hours."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of values in each range."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    """The number of values up to each bound and above the one before; the last counts those above all."""
    sum: float

    @property
    def count(self) -> int:
        """Return the number of values."""
        return sum(self.counts)


class Distribution:
    """A running count of values by range; the caller makes sure that only one thread adds at a time."""

    __slots__ = ("_bounds", "_counts", "_heard", "_sum")

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._heard: tuple[Callable[[float], object], ...] = ()

    def add(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value
        for hear in self._heard:
            hear(value)

    def tell(self, hear: Callable[[float], object]) -> None:
        """Call `hear` with each value that is added from now on."""
        self._heard += (hear,)

    def read(self) -> Histogram:
        """Return the counts so far."""
        return Histogram(self._bounds, tuple(self._counts), self._sum)
