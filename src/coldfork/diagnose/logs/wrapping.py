"""Puts back together what a terminal or a collector cut at a fixed width."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from coldfork.diagnose.logs import prefixes
from coldfork.diagnose.logs.frames import frame
from coldfork.diagnose.logs.records import RawLine

#: How a line begins that goes on with nothing.
_BEGINS = re.compile(
    r'Traceback \(|Process [\w:.-]+:$|\s*File "|During handling of|The above exception'
    r"|\(\w+[ \w]*=|\[rank\d|\[?\d{4}-\d\d-\d\d|(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning):"
)
_NARROWEST = 40
_WIDEST = 400
_FEWEST = 2
_SHARE = 0.08
"""The part of all lines from which it is no accident that they are as long as any."""


def unwrapped(lines: Sequence[RawLine]) -> Iterator[RawLine]:
    """The lines, those that were cut at the same width joined with what follows them."""
    width = _width(lines)
    if width is None:
        yield from lines
        return
    number, parts = 0, list[str]()
    for line in lines:
        if parts and _is_new(line.text, behind="".join(parts)):
            yield RawLine(number, "".join(parts))
            parts = []
        number = number if parts else line.number
        parts.append(line.text)
        if len(line.text) != width:
            yield RawLine(number, "".join(parts))
            parts = []
    if parts:
        yield RawLine(number, "".join(parts))


def _is_new(text: str, behind: str) -> bool:
    """True where a line does not go on with the one before, which is as long as those that were cut."""
    said = prefixes.split(behind)[1]
    if _BEGINS.match(text):
        return bool(said.strip())
    # The source line below a frame: nothing of the frame itself is so far to the right.
    return text.startswith("    ") and frame(said, 0) is not None


def _width(lines: Sequence[RawLine]) -> int | None:
    """The width at which lines were cut; None if they were not."""
    longest = max((len(line.text) for line in lines), default=0)
    cut = [line.text for line in lines if len(line.text) == longest]
    # The same error of two workers is as long twice, and was cut by nobody.
    wrapped = len(set(cut)) >= _FEWEST and len(cut) >= _SHARE * len(lines)
    return longest if wrapped and _NARROWEST <= longest <= _WIDEST else None
