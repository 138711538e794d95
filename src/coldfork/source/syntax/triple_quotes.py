"""Finds the triple-quoted strings of a module without parsing it."""

from __future__ import annotations

import re
from bisect import bisect_right

_DOUBLE, _SINGLE = b'"""', b"'''"
_QUOTE = re.compile(rb"""["'#]""")
# Matches a comment or a one-line string; quotes inside one do not open a triple-quoted string.
INLINE = re.compile(
    rb"""#[^\n]*|"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)


def triple_quoted(source: bytes) -> tuple[list[int], list[int]] | None:
    """Return the starts and ends of all triple-quoted strings; None if it is unclear which quotes
    open one.
    """
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    # Two plain searches take a fifth of the time of one search for both kinds.
    double, single = source.find(_DOUBLE), source.find(_SINGLE)
    while double >= 0 or single >= 0:
        quotes = _DOUBLE if 0 <= double < single or single < 0 else _SINGLE
        at = double if quotes is _DOUBLE else single
        line_start = source.rfind(b"\n", position, at) + 1 or position
        if source.endswith(b"\\\n", 0, line_start):
            return None  # this may be inside a one-line string that a backslash continues
        inside = _QUOTE.search(source, line_start, at)
        if inside is not None:
            skipped = _skip_inline(source, line_start, at)
            if skipped is None:
                return None
            if skipped > at:  # the quotes belong to a comment or a one-line string
                position = skipped
                double, single = _ahead(source, position, double, single)
                continue
        end = _closing(source, at + 3, quotes)
        if end < 0:
            return None
        starts.append(at)
        ends.append(end)
        position = end
        double, single = _ahead(source, position, double, single)
    return starts, ends


def _ahead(source: bytes, position: int, double: int, single: int) -> tuple[int, int]:
    """Return the positions of the next triple quotes of each kind, from `position` on."""
    if 0 <= double < position:
        double = source.find(_DOUBLE, position)
    if 0 <= single < position:
        single = source.find(_SINGLE, position)
    return double, single


def _skip_inline(source: bytes, start: int, at: int) -> int | None:
    """Skip one-line strings and comments from `start` on; return the position, at or after `at`, where this
    ends.
    """
    position = start
    while position < at:
        quote = _QUOTE.search(source, position, at + 1)
        if quote is None or quote.start() >= at:
            return at
        token = INLINE.match(source, quote.start())
        if token is None:
            return None
        position = token.end()
    return position


def _closing(source: bytes, position: int, quotes: bytes) -> int:
    """Return the offset after the closing triple quotes, ignoring escaped ones; -1 if there are none."""
    while True:
        end = source.find(quotes, position)
        if end < 0:
            return -1
        backslashes = 0
        while source[end - 1 - backslashes] == 0x5C:
            backslashes += 1
        if backslashes % 2 == 0:
            return end + 3
        position = end + 1


def string_around(starts: list[int], ends: list[int], at: int) -> int:
    """Return the end of the triple-quoted string around the offset `at`; 0 if there is none."""
    index = bisect_right(starts, at) - 1
    if index >= 0 and at < ends[index]:
        return ends[index]
    return 0
