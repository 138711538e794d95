"""Writes to a terminal or pipe, within its characters, colours and width; also trees and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from coldfork.report.shared.characters import Alphabet, alphabet, cells, one_line
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.wrapping import width_of, wrapped

if TYPE_CHECKING:
    from coldfork.report.shared.options import Options


def _leave_plain(style: str, text: str) -> str:
    return text


class Sheet:
    """Writes foreign text safely, and in colour if that is wanted."""

    def __init__(self, options: Options) -> None:
        self.letters: Alphabet = alphabet(options.encoding)
        self.paint: Callable[[str, str], str] = _leave_plain
        self._width = options.width
        if options.colour:
            from coldfork.report.shared.colour import paint

            self.paint = paint
        if options.links:
            from coldfork.report.shared.links import linking

            self.paint = linking(self.paint, options.links)
        drawn = self._drawn()
        self.branch: str = drawn[0]
        self.last: str = drawn[1]
        self.trunk: str = drawn[2]

    def say(self, text: str) -> str:
        """Return foreign text made safe, on one line."""
        return self.letters.clean(one_line(text))

    def cut(self, text: str, used: int = 0) -> str:
        """Return foreign text made safe, on one line that is cut at the terminal's edge."""
        return self.letters.cut(self.say(text), self.room(used))

    def flow(self, line: str, hang: int) -> Iterator[str]:
        """Yield a line, wrapped at the terminal's edge; continuation lines are indented by `hang` columns."""
        return wrapped(line, width_of(self._width), hang)

    def room(self, used: int) -> int | None:
        """Return how many columns remain on a line; None if lines are not limited."""
        return None if self._width is None else max(20, self._width - used)

    def _drawn(self) -> tuple[str, str, str]:
        drawn = ("├─ ", "└─ ", "│  ")
        try:
            "".join(drawn).encode(self.letters.encoding)
        except UnicodeError:
            return ("|- ", "`- ", "|  ")
        return drawn


_NARROWEST = 30
_WIDEST = 60
_MOST_ROWS = 24
_INDENT = " " * 6


def column(names: Iterable[str], narrowest: int = _NARROWEST, most: int = _WIDEST) -> int:
    """Return the width of a table's first column; names that are too long do not count, and protrude."""
    widths = (cells(name) + 2 for name in names)
    return max((narrowest, *(width for width in widths if width <= most)))


def row(number: int | None, name: str, width: int, behind: str) -> str:
    """Return a row of a table, numbered or indented."""
    head = _INDENT if number is None else f"  {number:2}. "
    gap = "   " if cells(name) > width - 2 else " " * (width - cells(name))
    return f"{head}{name}{gap}{behind}".rstrip()


def table(
    rows: Sequence[tuple[str, str]], letters: Alphabet, *, numbered: bool, elsewhere: str = ""
) -> Iterator[str]:
    """Yield the rows; of a long table only the first and last, with `elsewhere` saying where all rows are."""
    names = [letters.clean(name) for name, _ in rows]
    # The last call often has a long name and no place, so it may be wider than the column.
    width = column(names[:-1] if numbered else names)
    left_out = range(0)
    if len(rows) > _MOST_ROWS:
        left_out = range(_MOST_ROWS // 2, len(rows) - _MOST_ROWS // 2)
    for index, (name, (_, behind)) in enumerate(zip(names, rows, strict=True)):
        if index not in left_out:
            yield row(index + 1 if numbered else None, name, width, behind)
        elif index == left_out.start:
            yield f"{_INDENT}{letters.ellipsis} {plural(len(left_out), 'line')} left out{elsewhere}"
