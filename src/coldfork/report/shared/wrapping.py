"""Wraps lines at the terminal's edge: they are broken between words, and continuation lines are indented."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from coldfork.report.shared.characters import cells

_IN_A_PIPE = 110
"""The width of text that does not go to a terminal."""
_NARROWEST = 60
_HANG = 4
_MARGIN = re.compile(r" *(?:(?:=|-->|[0-9]+\.|help:) +)*")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)")
"""A sequence that a terminal does not show as characters: a colour, or an end of a link."""
_HARD = "\0"
"""Stands for a blank at which a line must not be broken; foreign text never contains it here."""
_FLAG = re.compile(r"(?<= )(--[a-z]+(?:-[a-z]+)*) (?=\w)")
"""A flag and its argument, which must stay together."""
_WORDS = re.compile(r"( +)")


def whole(text: str) -> str:
    """Return the text so that `wrapped` does not break it at blanks, as for a command that users type."""
    return text.replace(" ", _HARD)


def width_of(columns: int | None) -> int:
    """Return the width at which to wrap text, for a terminal with this many columns or for a pipe."""
    return _IN_A_PIPE if columns is None else max(_NARROWEST, columns)


def fitted(lines: Iterable[str], columns: int | None) -> Iterator[str]:
    """Yield lines so that a terminal with this many columns breaks none of them; in a pipe, all as they are.

    A line is continued below its own text: below the sentence, if it begins with a sign such as `=`.
    """
    for line in lines:
        if columns is None:
            yield line
        else:
            margin = _MARGIN.match(_ESCAPE.sub("", line))
            yield from wrapped(line, width_of(columns), margin.end() if margin and margin[0] else _HANG)


def wrapped(line: str, width: int, hang: int) -> Iterator[str]:
    """Yield a line as one or more, each continuation indented by `hang` columns more than the margin.

    Lines are broken only at blanks, so a path with its line number stays whole. A line that fits is not
    changed, so aligned columns stay aligned.
    """
    if _cells(line) <= width:
        yield line.replace(_HARD, " ")
        return
    line = _FLAG.sub(rf"\1{_HARD}", line)
    margin = len(line) - len(line.lstrip(" "))
    current, used = line[:margin], margin
    gap = ""
    for part in _WORDS.split(line[margin:]):
        if part.startswith(" ") or not part:
            gap = part
            continue
        taken = _cells(part)
        if used + len(gap) + taken > width and current.strip():
            yield current.replace(_HARD, " ")
            current, used, gap = " " * hang, hang, ""
        current += gap + part
        used += len(gap) + taken
        gap = ""
    yield current.replace(_HARD, " ")


def _cells(text: str) -> int:
    return cells(_ESCAPE.sub("", text) if "\x1b" in text else text)
