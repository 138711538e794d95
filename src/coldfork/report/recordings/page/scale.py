"""Where a moment stands in a picture of the whole time, in per cent, so that it fits every width."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, log10

_TICKS = 8
#: Of the whole time: what lies closer together than this is drawn as one.
_CLOSE = 1 / 200


@dataclass(frozen=True, slots=True)
class Scale:
    """The time that a picture shows."""

    begin: float
    length: float

    def at(self, moment: float) -> str:
        """Where a moment stands."""
        return self.wide(moment - self.begin)

    def wide(self, seconds: float) -> str:
        """How wide a time is."""
        # The last of the width stays free, so that what happens at the very end can be seen.
        return f"{max(0.0, seconds) / self.length * 98:.4f}%"

    def ticks(self) -> list[float]:
        """Round times that divide the length into a handful of parts."""
        raw = self.length / _TICKS
        magnitude = 10.0 ** floor(log10(raw))
        step = next((factor * magnitude for factor in (1, 2, 5) if raw <= factor * magnitude), 10 * magnitude)
        return [round(index * step, 9) for index in range(int(self.length / step) + 1)]

    def merged(self, spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        """The spans in order, those put together that overlap or that nobody could see apart."""
        found: list[tuple[float, float]] = []
        for begin, end in sorted(spans):
            if found and begin <= found[-1][1] + self.length * _CLOSE:
                found[-1] = found[-1][0], max(found[-1][1], end)
            else:
                found.append((begin, end))
        return found

    def apart(self, moments: Iterable[float]) -> list[float]:
        """The moments in order without those that nobody could see beside the one before."""
        found: list[float] = []
        for moment in sorted(moments):
            if not found or moment > found[-1] + self.length * _CLOSE:
                found.append(moment)
        return found
