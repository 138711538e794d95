"""The positions of moments in the picture, in per cent of its width, and how the timeline's rows are
stacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

from coldfork.report.recordings.summary.alike import Family, Row

_TICKS = 8
#: Marks closer together than this share of the whole time are drawn as one.
_CLOSE = 1 / 200


@dataclass(frozen=True, slots=True)
class Scale:
    """The period that a picture shows, and its conversion to positions."""

    begin: float
    length: float

    def at(self, moment: float) -> str:
        """Return the position of a moment in the picture."""
        return self.wide(moment - self.begin)

    def wide(self, seconds: float) -> str:
        """Return the width of a duration in the picture."""
        # The last two per cent of the width stay free, so that events at the very end are visible.
        return f"{max(0.0, seconds) / self.length * 98:.4f}%"

    def ticks(self) -> list[float]:
        """Return round times that divide the period into a few parts."""
        raw = self.length / _TICKS
        magnitude = 10.0 ** floor(log10(raw))
        step = next((factor * magnitude for factor in (1, 2, 5) if raw <= factor * magnitude), 10 * magnitude)
        return [round(index * step, 9) for index in range(int(self.length / step) + 1)]

    def merged(self, spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the spans in order; spans that overlap or would look like one are merged."""
        found: list[tuple[float, float]] = []
        for begin, end in sorted(spans):
            if found and begin <= found[-1][1] + self.length * _CLOSE:
                found[-1] = found[-1][0], max(found[-1][1], end)
            else:
                found.append((begin, end))
        return found

    def apart(self, moments: Iterable[float]) -> list[float]:
        """Return the moments in order, without those too close to the previous one to be seen separately."""
        found: list[float] = []
        for moment in sorted(moments):
            if not found or moment > found[-1] + self.length * _CLOSE:
                found.append(moment)
        return found


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the picture, and the position of its upper edge."""

    row: Row
    top: float


@dataclass(frozen=True, slots=True)
class Band:
    """Rows that are drawn together; their position assumes that all rows that can be opened are open."""

    top: float
    height: float
    lines: tuple[Line, ...]
    folded: Row | None = None
    """The row that must be opened to show the band; None for a band that is always shown."""

    @property
    def heading(self) -> Row | None:
        """The row of many processes, if the band contains nothing else; None for a band of single
        processes.
        """
        return self.lines[0].row if self.lines and self.lines[0].row.is_folded else None

    def clip(self, first: float, last: float) -> tuple[float, float] | None:
        """Return the part of a vertical line that is inside the band, measured from the band's top."""
        upper, lower = max(min(first, last), self.top), min(max(first, last), self.top + self.height)
        return (upper - self.top, lower - self.top) if lower > upper else None


def bands(family: Family, row_height: float) -> list[Band]:
    """Return every row of the picture, from top to bottom."""
    found: list[Band] = []
    top: float = 0
    for rows, folded in _runs(family):
        lines = tuple(Line(row, top + index * row_height) for index, row in enumerate(rows))
        height = row_height * len(lines)
        found.append(Band(top, height, lines, folded))
        top += height
    return found


def _runs(family: Family) -> Iterator[tuple[Sequence[Row], Row | None]]:
    """Yield the runs of single processes; each row of many processes comes separately, followed by its
    members.
    """
    singles: list[Row] = []
    for row in family.rows():
        if not row.is_folded:
            singles.append(row)
            continue
        if singles:
            yield singles, None
            singles = []
        yield (row,), None
        yield family.each(row), row
    if singles:
        yield singles, None
