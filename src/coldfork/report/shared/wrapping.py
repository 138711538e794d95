"""Lines that end where the terminal does: broken between words, and continued further in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.report.shared.characters import cells

_IN_A_PIPE = 110
"""How wide a text is that no terminal shows."""
_NARROWEST = 60
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_HARD = "\0"
"""Stands for a blank that is not broken at: foreign text never holds one when it gets here."""
_FLAG = re.compile(r"(?<= )(--[a-z]+(?:-[a-z]+)*) (?=\w)")
"""A flag and what is given to it are not parted."""
_WORDS = re.compile(r"( +)")


def whole(text: str) -> str:
    """Text that is not to be broken at its blanks, such as a command to type; for `wrapped`."""
    return text.replace(" ", _HARD)


def width_of(columns: int | None) -> int:
    """How wide the text for a terminal with so many columns is, or for none."""
    return _IN_A_PIPE if columns is None else max(_NARROWEST, columns)


def wrapped(line: str, width: int, hang: int) -> Iterator[str]:
    """The line in as many as it needs, the later ones `hang` columns further in than the margin.

    Only blanks are broken at, and what holds none is never broken: a path with its line stays whole. A line
    that fits stays as it is, columns included.
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
