"""Takes off the numbers that `grep -n`, `cat -n` and editors put in front of each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from coldfork.diagnose.logs.records import RawLine

_NUMBERED = re.compile(r"(?:[\w./-]+:)?\s*(?P<number>\d+)(?P<mark>[:|]?)(?P<blanks> *)")
_FEWEST = 4


def unnumbered(lines: Sequence[RawLine]) -> Sequence[RawLine]:
    """The lines without their numbers, if every line has one, larger than that of the line before."""
    matches = [match for line in lines if (match := _NUMBERED.match(line.text)) is not None]
    if len(matches) < _FEWEST or len(matches) < sum(bool(line.text.strip()) for line in lines):
        return lines
    numbers = [int(match["number"]) for match in matches]
    if not all(one < other for one, other in pairwise(numbers)):
        return lines
    # What indents all lines alike belongs to the numbers; what is left of it to the text.
    texts = [len(match["blanks"]) for match in matches if match.end() < len(match.string)]
    indent = min(texts, default=0)
    return [RawLine(line.number, _without(line.text, indent)) for line in lines]


def _without(text: str, indent: int) -> str:
    match = _NUMBERED.match(text)
    return text if match is None else text[match.end("mark") + indent :]
