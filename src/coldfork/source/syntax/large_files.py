"""Parses a large file in parts, so that its whole tree never exists, and omits most entries of large tables.

The tree of a generated file takes a hundred times the space of its text. A table of constants runs no code,
and thousands of interchangeable entries say no more than the first one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from coldfork.source.syntax.newer.parsing import parse_as_is

#: Shorter texts are parsed in one piece: parts would save little.
LARGE = 200_000
_PART = 60_000
_LONG_RUN = 4_000
"""In a run of entries that is longer than this many bytes, only the first is kept."""
# Matches the start of a statement at module level, but not a line that continues another statement.
_BEGINNING = re.compile(rb"^(?!(?:else|elif|except|finally)\b)[A-Za-z_@]", re.MULTILINE)


def is_large(text: bytes) -> bool:
    """Return True for a text that is parsed in parts."""
    return len(text) >= LARGE


def statements(text: bytes) -> Iterator[ast.stmt]:
    """Yield the statements of a module, parsing each part when it is needed.

    Raises SyntaxError if a part does not parse, even though the whole may be valid: a part ends before a line
    that looks like the beginning of a statement, and counts as complete if the parser accepts it.
    """
    start = line = 0
    while start < len(text):
        room = _PART
        while True:
            end = _end(text, start + room)
            try:
                tree = _parse(text[start:end], line)
                break
            except SyntaxError:
                if end == len(text):
                    raise
                room *= 2  # a string or a bracket may still be open
        yield from tree.body
        line += text.count(b"\n", start, end)
        start = end


def _parse(part: bytes, line: int) -> ast.Module:
    """Return the tree of a part that begins after `line` lines; a long part has its tables shortened."""
    before = b"\n" * line
    if len(part) > 2 * _PART:
        shorter = without_tables(part)
        if shorter is not part:
            with suppress(SyntaxError):  # in the shortened text, unpacking may be invalid
                return parse_as_is(before + shorter)
    return parse_as_is(before + part)


def _end(text: bytes, wanted: int) -> int:
    """Return the first position, at or after an offset, at which a part can end."""
    found = _BEGINNING.search(text, wanted)
    return len(text) if found is None else found.start()


def without_tables(text: bytes) -> bytes:
    """Return the text without long runs of constants in containers; lines and columns stay the same.

    An entry that unpacks a number replaces each run. It is no container, so the analysis does not take the
    remaining entries for all.
    """
    token, entry = _token(), _entry()
    parts: list[bytes] = []
    written = at = 0
    while (found := token.search(text, at)) is not None:
        at = found.end()
        kind = found.lastgroup
        if kind == "stray":
            return text
        if kind is None or at - found.start() < _LONG_RUN:
            continue
        first = entry.match(text, found.start())
        assert first is not None
        if first.end() - found.start() >= _LONG_RUN:
            at = found.start() + 1 if text[found.start()] in b"[({" else first.end()
            continue
        if at - first.end() < len(b"**0,"):
            continue
        parts += text[written : first.end()], b"**0," if kind == "pairs" else b"*0,"
        parts.append(_blank(text, first.end(), at, len(parts[-1])))
        written = at
    return b"".join([*parts, text[written:]]) if parts else text


def _blank(text: bytes, start: int, end: int, used: int) -> bytes:
    """Return blanks, with the same line ends, for a part of the text after its first `used` columns."""
    last = text.rfind(b"\n", start, end)
    if last < 0:
        return b" " * (end - start - used)
    return b"\n" * text.count(b"\n", start, end) + b" " * (end - last - 1)


_SPACE = rb"(?:[ \t\n]|\#[^\n]*\n)*+"
_TEXT = rb"""(?:"(?!"")[^"\\\n]*+(?:\\[\s\S][^"\\\n]*+)*+"|'(?!'')[^'\\\n]*+(?:\\[\s\S][^'\\\n]*+)*+')"""
_CONSTANT = (
    rb"(?:(?:[bBuUrR]{0,2}%(text)b%(space)b)++|[-+]?\d[\w.]*+(?:(?<=[eE])[-+]\d++)?+%(space)b"
    rb"|(?:True|False|None)\b%(space)b)" % {b"text": _TEXT, b"space": _SPACE}
)


def _nested(depth: int) -> bytes:
    """Return the pattern of a constant, or of constants in containers nested to this depth, with space after
    it.
    """
    if not depth:
        return _CONSTANT
    within = {b"item": _nested(depth - 1), b"space": _SPACE}
    listed = rb"%(space)b(?:%(item)b(?:,%(space)b|(?=[\])])))*+" % within
    paired = rb"%(space)b(?:%(item)b(?::%(space)b%(item)b)?+(?:,%(space)b|(?=\})))*+" % within
    return rb"(?:%b|(?:\[%b\]|\(%b\)|\{%b\})%b)" % (_CONSTANT, listed, listed, paired, _SPACE)


@cache
def _entry() -> re.Pattern[bytes]:
    """Return the pattern of one entry of a container, including the comma."""
    item = _nested(2)
    return re.compile(rb"%b(?::%b%b)?+," % (item, _SPACE, item))


@cache
def _token() -> re.Pattern[bytes]:
    """Return the pattern of a string, comment or run of entries, so that entries inside strings do
    not match.
    """
    item = _nested(2)
    return re.compile(
        rb"\#[^\n]*+"
        rb"|[A-Za-z]{0,3}(?:\"\"\"(?:[^\\]|\\[\s\S])*?\"\"\"|'''(?:[^\\]|\\[\s\S])*?''')"
        rb"|(?P<pairs>(?:%(item)b:%(space)b%(item)b,%(space)b)++)"
        rb"|(?P<items>(?:%(item)b,%(space)b)++)"
        rb"|[A-Za-z]{0,3}%(text)b"
        rb"|\w++"
        rb"|(?P<stray>[\"'])" % {b"item": item, b"space": _SPACE, b"text": _TEXT}
    )
