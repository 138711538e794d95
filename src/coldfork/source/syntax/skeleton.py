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
    runs: dict[int, list[int]]
    """The lines of functions that follow one another, by the first: in its place stands `first = second = 0`.

    It is sooner parsed, and tells what is left of functions without decorator and header.
    """


class _Writer:
    """Puts a skeleton together."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.spans: dict[int, Span] = {}
        self.names: dict[bytes, int] = {}
        self.position = 0
        """Up to here the source is written."""
        self._parts: list[bytes] = []
        self._line, self._counted = 1, 0
        self._met: set[bytes] = set()
        self._runs: dict[int, list[int]] = {}
        self._run: tuple[bytes, int, int] | None = None
        """The run just written: its indent, the part with its names, the line of its first function."""

    def headed(self, indent: bytes, start: int, body: int, end: int) -> None:
        """Write a function whose header is to be parsed."""
        self._reach(start, end)
        self._parts.append(self.source[start:body])
        self._parts.append(indent + b" 0" + b"\n" * self.source.count(b"\n", body, end))
        self._run = None

    def stripped(
        self, indent: bytes, keyword: bytes, name: bytes, header: bytes, start: int, end: int
    ) -> None:
        """Write a function of which the name is enough."""
        before = self.position
        self._reach(start, end)
        lines = b"\n" * self.source.count(b"\n", start, end)
        run = self._run
        if start == before and run is not None and run[0] == indent and name.isascii():
            self._parts[run[1]] += name + b"="
            self._runs[run[2]].append(self._line)
            self._parts.append(lines)
        elif self.source.find(b"@", before, start) < 0 and name.isascii():
            self._run = indent, len(self._parts) + 1, self._line
            self._runs[self._line] = [self._line]
            self._parts += indent, name + b"=", b"0" + lines
        else:
            self._run = None  # it may be decorated
            self._parts.append(indent + keyword + name + b"():0" + lines)
        if b"." in header:
            _note_names(header, self._line, self.names, self._met)

    def _reach(self, start: int, end: int) -> None:
        """Leave all before a function as it is, and note where the function stands."""
        self._parts.append(self.source[self.position : start])
        self._line += self.source.count(b"\n", self._counted, start)
        self._counted = start
        self.spans[self._line] = Span(start, end, self._line)
        self.position = end

    def skeleton(self) -> Skeleton:
        """What was written, with the rest of the source."""
        text = b"".join(self._parts) + self.source[self.position :]
        return Skeleton(text, self.spans, self.names, self._runs)


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
    writer = _Writer(source)
    at = -4
    bodies: dict[bytes, re.Pattern[bytes]] = {}
    while (at := source.find(b"def ", max(writer.position, at + 4))) >= 0:
        start = source.rfind(b"\n", writer.position, at) + 1 or writer.position
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
        if plain is None:
            writer.headed(indent, start, body_start, end)
        else:
            writer.stripped(indent, keyword, found.group(1), plain, start, end)
    return writer.skeleton()


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
        if not inside or starts[bisect_right(starts, end) - 1] == end:
            return end
        position = inside
