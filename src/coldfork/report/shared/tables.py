"""Rows of two columns: a name, and what stands behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coldfork.report.shared.characters import Alphabet, cells
from coldfork.report.shared.quantities import plural

_NARROWEST = 30
_WIDEST = 60
_MOST_ROWS = 24
_INDENT = " " * 6


def column(names: Iterable[str], narrowest: int = _NARROWEST) -> int:
    """How wide the first column is; a name that is too long for it sticks out."""
    widths = (cells(name) + 2 for name in names)
    return max((narrowest, *(width for width in widths if width <= _WIDEST)))


def row(number: int | None, name: str, width: int, behind: str) -> str:
    """One row, numbered or indented."""
    head = _INDENT if number is None else f"  {number:2}. "
    gap = "   " if cells(name) > width - 2 else " " * (width - cells(name))
    return f"{head}{name}{gap}{behind}".rstrip()


def table(
    rows: Sequence[tuple[str, str]], letters: Alphabet, *, numbered: bool, elsewhere: str = ""
) -> Iterator[str]:
    """The rows, of a long table the first and the last; `elsewhere` says where all of them are."""
    names = [letters.clean(name) for name, _ in rows]
    # The last call is often a long dotted name without a place behind it, with which nothing has to line up.
    width = column(names[:-1] if numbered else names)
    left_out = range(0)
    if len(rows) > _MOST_ROWS:
        left_out = range(_MOST_ROWS // 2, len(rows) - _MOST_ROWS // 2)
    for index, (name, (_, behind)) in enumerate(zip(names, rows, strict=True)):
        if index not in left_out:
            yield row(index + 1 if numbered else None, name, width, behind)
        elif index == left_out.start:
            yield f"{_INDENT}{letters.ellipsis} {plural(len(left_out), 'line')} left out{elsewhere}"
