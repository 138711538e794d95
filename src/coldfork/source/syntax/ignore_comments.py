"""The comments of a file that ask coldfork to ignore what stands there."""

from __future__ import annotations

import re
from typing import NamedTuple

_IGNORE = re.compile(rb"#\s*coldfork:\s*ignore(?:\[([^\]\n]*)\])?([^\n]*)")


class IgnoreMark(NamedTuple):
    """An ignore comment: line, column, rules, reason, and the lines of the statement it stands on."""

    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]


def find_ignore_comments(source: bytes) -> list[IgnoreMark]:
    """Ignore comments, each with the extent of its statement; strings that look like one do not count."""
    if b"coldfork:" not in source or not _IGNORE.search(source):
        return []
    import io
    import tokenize

    comments: dict[int, tuple[int, str]] = {}
    extents: list[tuple[int, int]] = []
    first = 0
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type == tokenize.COMMENT:
                comments[token.start[0]] = (token.start[1], token.string)
            elif token.type == tokenize.NEWLINE:
                extents.append((first or token.start[0], token.start[0]))
                first = 0
            elif (
                token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
                and not first
            ):
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return []
    marks = []
    for line, (column, text) in comments.items():
        found = _IGNORE.search(text.encode())
        if found is None:
            continue
        rules = tuple(r.strip().decode() for r in (found.group(1) or b"").split(b",") if r.strip())
        reason = found.group(2).decode("utf-8", "replace").strip(" :-\t")
        marks.append(IgnoreMark(line, column, rules, reason, _extent(line, extents)))
    return marks


def _extent(line: int, extents: list[tuple[int, int]]) -> tuple[int, int]:
    """The statement that holds `line`; a comment on a line of its own belongs to the statement below it."""
    for first, last in extents:
        if first <= line <= last:
            return first, last
    following = [extent for extent in extents if extent[0] > line]
    return following[0] if following else (line, line)
