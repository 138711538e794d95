"""How the rows of the timeline are stacked: one that opens parts the picture above it from the one below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coldfork.report.recordings.summary.alike import Family, Row


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the picture, and where its upper edge is."""

    row: Row
    top: float


@dataclass(frozen=True, slots=True)
class Band:
    """Rows that are drawn together; all heights are counted as if every row that opens stood open."""

    top: float
    height: float
    lines: tuple[Line, ...]
    folded: Row | None = None
    """The row that has to be opened to show the band; None for what is always shown."""

    @property
    def heading(self) -> Row | None:
        """The row with many processes that the band consists of; None where each row is one process."""
        return self.lines[0].row if self.lines and self.lines[0].row.is_folded else None

    def clip(self, first: float, last: float) -> tuple[float, float] | None:
        """The part of a vertical line that lies in the band, counted from the band's top."""
        upper, lower = max(min(first, last), self.top), min(max(first, last), self.top + self.height)
        return (upper - self.top, lower - self.top) if lower > upper else None


def bands(family: Family, row_height: float) -> list[Band]:
    """Every row of the picture, from top to bottom."""
    found: list[Band] = []
    top: float = 0
    for rows, folded in _runs(family):
        lines = tuple(Line(row, top + index * row_height) for index, row in enumerate(rows))
        height = row_height * len(lines)
        found.append(Band(top, height, lines, folded))
        top += height
    return found


def _runs(family: Family) -> Iterator[tuple[Sequence[Row], Row | None]]:
    """Rows of one process each come together; one of many comes alone, and then what it stands for."""
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
