"""Blank the function bodies of a module, so that only what its import executes has to be parsed.

Bodies are most of a file, and an import runs few of them: they are parsed one by one when a call
reaches them. Blanking works on bytes and keeps every line where it was. Whatever it is not sure of it
leaves alone, and a skeleton that does not parse is thrown away by the caller in favour of the whole file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_NAME = re.compile(rb"[ \t]*([^\s(\[:]+)")
_DOUBLE, _SINGLE = b'"""', b"'''"
_QUOTE = re.compile(rb"""["'#]""")
# One string or comment inside a line: what has to be jumped over to know whether a quote opens a string.
_INLINE = re.compile(
    rb"""#[^\n]*|"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
_FORMATTED = re.compile(rb"""[fFtT][rR]?["']|[rR][fFtT]["']""")
# The headers of nearly all functions: one pair of parentheses, and nothing in them that needs a closer look.
_PLAIN_HEADER = re.compile(
    rb"""[^()\[\]"'#\\{}\n]*+\("""
    rb"""(?:[^()"'#\\{}]++|"(?!"")[^"\\\n]*+"|'(?!'')[^'\\\n]*+'|\#[^\n]*+)*+"""
    rb"""\)[^()"'#\\{}\n:]*+:[ \t]*\n""",
)
_HEADER_END = re.compile(rb":[ \t]*(?:#[^\n]*)?$")
_DOTTED = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_LONGEST_HEADER = 20_000


class Span(NamedTuple):
    """Where a blanked function stands: byte offsets of `def` line and end, and the first line's number."""

    start: int
    end: int
    line: int


class Skeleton(NamedTuple):
    """The blanked source, the functions blanked by line, and dotted names met in stripped headers."""

    text: bytes
    spans: dict[int, Span]
    header_names: dict[bytes, int]


def _strings(source: bytes) -> tuple[list[int], list[int]] | None:
    """Starts and ends of all triple-quoted strings; None where a quote could not be placed."""
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    # Two plain searches cost a fifth of one for either.
    double, single = source.find(_DOUBLE), source.find(_SINGLE)
    while double >= 0 or single >= 0:
        quotes = _DOUBLE if 0 <= double < single or single < 0 else _SINGLE
        at = double if quotes is _DOUBLE else single
        line_start = source.rfind(b"\n", position, at) + 1 or position
        if source.endswith(b"\\\n", 0, line_start):
            return None  # the line may begin inside a one-line string that a backslash carried over
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
    """Where the next triple quotes of either kind stand, behind `position`."""
    if 0 <= double < position:
        double = source.find(_DOUBLE, position)
    if 0 <= single < position:
        single = source.find(_SINGLE, position)
    return double, single


def _blank(token: re.Match[bytes]) -> bytes:
    """What stands for a string or comment while brackets are counted."""
    return b"" if token.group().startswith(b"#") else b"0"


def _skip_inline(source: bytes, start: int, at: int) -> int | None:
    """Walk one-line strings and comments from `start`; where the walk is when it reaches or passes `at`."""
    position = start
    while position < at:
        quote = _QUOTE.search(source, position, at + 1)
        if quote is None or quote.start() >= at:
            return at
        token = _INLINE.match(source, quote.start())
        if token is None:
            return None
        position = token.end()
    return position


def _closing(source: bytes, position: int, quotes: bytes) -> int:
    """Offset just behind the closing triple quote, minding backslashes; -1 if there is none."""
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


def skeleton(source: bytes) -> Skeleton | None:
    """Blank the function bodies of `source` (newlines normalised); None if all of it must be parsed."""
    if b"\f" in source:
        return None
    placed = _strings(source)
    if placed is None:
        return None
    starts, ends = placed
    parts: list[bytes] = []
    spans: dict[int, Span] = {}
    names: dict[bytes, int] = {}
    met: set[bytes] = set()
    position, at = 0, -4
    line, counted = 1, 0
    bodies: dict[bytes, re.Pattern[bytes]] = {}
    while (at := source.find(b"def ", position if position > at else at + 4)) >= 0:
        start = source.rfind(b"\n", position, at) + 1 or position
        if source.endswith(b"\\\n", 0, start):
            continue
        indent = source[start:at]
        keyword = b"def "
        if not indent.isspace() and indent:
            keyword = indent.lstrip() + keyword
            indent = indent[: -len(keyword) + 4]
            if keyword.split() != [b"async", b"def"]:
                continue
        found = _NAME.match(source, at + 4)
        if found is None or (starts and _within(starts, ends, start)):
            continue
        header = _header(source, found.end())
        if header is None:
            continue
        body_start, plain = header
        pattern = bodies.get(indent)
        if pattern is None:
            pattern = bodies[indent] = re.compile(rb"\n(?!%b[ \t])[ \t]*[^ \t\n#]" % indent)
        end = _body_end(source, body_start, pattern, starts, ends)
        if end <= body_start or source.endswith(b"\\\n", body_start, end):
            continue
        line += source.count(b"\n", counted, start)
        counted = start
        parts.append(source[position:start])
        if plain is None:
            parts.append(source[start:body_start])
            parts.append(indent + b" 0" + b"\n" * source.count(b"\n", body_start, end))
        else:
            parts.append(
                indent + keyword + found.group(1) + b"():0" + b"\n" * source.count(b"\n", start, end)
            )
            if b"." in plain:
                _note_names(plain, line, names, met)
        spans[line] = Span(start, end, line)
        position = end
    parts.append(source[position:])
    return Skeleton(b"".join(parts), spans, names)


def _note_names(header: bytes, line: int, names: dict[bytes, int], met: set[bytes]) -> None:
    """Note the dotted names of a header that were not met before."""
    for part in header.split(b","):
        if b"." in part:
            annotation = part[part.find(b":") + 1 :] or part  # many parameters say the same one
            if annotation not in met:
                met.add(annotation)
                for name in _DOTTED.findall(part):
                    names.setdefault(name, line)


def _within(starts: list[int], ends: list[int], at: int) -> int:
    """End of the triple-quoted string that holds offset `at`, or 0."""
    index = bisect_right(starts, at) - 1
    if index >= 0 and at < ends[index]:
        return ends[index]
    return 0


def _header(source: bytes, position: int) -> tuple[int, bytes | None] | None:
    """Offset of the first body line, and the header's text if stripping it loses no call; None if unsure."""
    common = _PLAIN_HEADER.match(source, position)
    if common is not None and common.end() - position <= _LONGEST_HEADER:
        text = source[position : common.end() - 1]
        quoted = b'"' in text or b"'" in text or b"#" in text
        if not quoted or _FORMATTED.search(text) is None:
            if quoted:
                text = _INLINE.sub(_blank, text)
            if text.count(b"[") == text.count(b"]") and b"lambda" not in text and b"await" not in text:
                return common.end(), text
    first = position
    calls = False
    end = source.find(b"\n", position)
    while end >= 0 and end - first <= _LONGEST_HEADER:
        text = source[first:end]
        if b'"' in text or b"'" in text or b"#" in text:
            if b'"""' in text or b"'''" in text:
                return None
            calls = _FORMATTED.search(text) is not None
            text = _INLINE.sub(_blank, text)
            if b'"' in text or b"'" in text:
                return None
        opened = text.count(b"(")
        if opened == text.count(b")") and text.count(b"[") == text.count(b"]"):
            if not _HEADER_END.search(text[text.rfind(b"\n") + 1 :]) or b"\\" in text:
                return None
            # A second parenthesis may be a call in a default or an annotation, and a type parameter or
            # a lambda is worth a real parse: those headers stay.
            strip = (
                opened == 1
                and not calls
                and b"{" not in text
                and b"lambda" not in text
                and b"await" not in text
            )
            return end + 1, (text if strip else None)
        end = source.find(b"\n", end + 1)
    return None


def _body_end(
    source: bytes, start: int, dedent: re.Pattern[bytes], starts: list[int], ends: list[int]
) -> int:
    """Offset behind the last line that belongs to the body that begins at `start`."""
    position = start - 1
    while True:
        found = dedent.search(source, position)
        if found is None:
            return len(source)
        end = found.start() + 1
        inside = starts and _within(starts, ends, end)
        if not inside or end in starts[max(0, bisect_right(starts, end) - 1) :][:1]:
            return end
        position = inside
