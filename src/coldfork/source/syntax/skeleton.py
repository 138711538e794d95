"""Blanks the function bodies of a module, so that only the code that an import runs has to be parsed.

Most of a file consists of function bodies, few of which an import runs, so each is parsed only when a call
reaches it. Blanking works on bytes and keeps every line where it was. Doubtful code is left as it is. If a
skeleton does not parse, the caller parses the whole file instead.

If it was compiled, `native/skeleton.c` does the same in a sixth of the time. Change both together; the tests
compare them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from coldfork.source.syntax.imports import PlainImport, plain_import
from coldfork.source.syntax.native.compiled import compiled_skeleton, compiled_words
from coldfork.source.syntax.triple_quotes import INLINE, string_around, triple_quoted

_NAME = re.compile(rb"[ \t]*([^\s(\[:]+)")
_FORMATTED = re.compile(rb"""[fFtT][rR]?["']|[rR][fFtT]["']""")
# Matches the headers of nearly all functions: one pair of parentheses, with nothing inside that has to be
# checked.
_PLAIN_HEADER = re.compile(
    rb"""[^()\[\]"'#\\{}\n]*+\("""
    rb"""(?:[^()"'#\\{}]++|"(?!"")[^"\\\n]*+"|'(?!'')[^'\\\n]*+'|\#[^\n]*+)*+"""
    rb"""\)[^()"'#\\{}\n:]*+:[ \t]*\n""",
)
_HEADER_END = re.compile(rb":[ \t]*(?:#[^\n]*)?$")
# Matches a line that is neither empty nor a comment.
_BEYOND = re.compile(rb"^[ \t]*[^ \t\n#]", re.MULTILINE)
_DOTTED = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_LONGEST_HEADER = 20_000


class Skeleton(NamedTuple):
    """The blanked source, the positions of blanked functions by line, and the dotted names in stripped
    headers.
    """

    text: bytes
    spans: dict[int, tuple[int, int]]
    """For each function, by line, the offsets of its `def` line and of its end."""
    header_names: dict[bytes, int]
    runs: dict[int, list[int]]
    """The lines of consecutive functions, by the line of the first; `first = second = 0` replaces them.

    The assignment parses faster, and stands for functions without decorators and headers.
    """
    imports: dict[int, list[PlainImport]]
    """Consecutive imports of the module, by the line of the first; `pass` replaces them.

    `pass` is allowed exactly where an import is, so code that Python rejects stays rejected.
    """


class _Writer:
    """Builds a skeleton piece by piece."""

    def __init__(self, source: bytes, starts: list[int], ends: list[int]) -> None:
        self.source = source
        self._placed = starts, ends
        self.spans: dict[int, tuple[int, int]] = {}
        self.names: dict[bytes, int] = {}
        self.position = 0
        """The source has been written up to this offset."""
        self._parts: list[bytes] = []
        self._line, self._counted = 1, 0
        self._met: set[bytes] = set()
        self._runs: dict[int, list[int]] = {}
        self._run: tuple[bytes, int, int] | None = None
        """The latest run: its indentation, the part with its names, and the line of its first function."""
        self._imports: dict[int, list[PlainImport]] = {}

    def headed(self, indent: bytes, start: int, body: int, end: int) -> None:
        """Write a function with its header, which has to be parsed."""
        self._reach(start, end)
        self._parts.append(self.source[start:body])
        self._parts.append(indent + b" 0" + b"\n" * self.source.count(b"\n", body, end))
        self._run = None

    def stripped(
        self, indent: bytes, keyword: bytes, name: bytes, header: bytes, start: int, end: int
    ) -> None:
        """Write a function of which only the name is needed."""
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
            self._run = None  # a decorator may precede it
            self._parts.append(indent + keyword + name + b"():0" + lines)
        if b"." in header:
            _note_names(header, self._line, self.names, self._met)

    def _reach(self, start: int, end: int) -> None:
        """Write the source before a function, except plain imports, and record the function's position."""
        self._leave(start)
        self._count(start)
        self.spans[self._line] = start, end
        self.position = end

    def _count(self, offset: int) -> int:
        """Return the line of an offset, which must not be smaller than in the previous call."""
        self._line += self.source.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._line

    def _leave(self, end: int) -> None:
        """Write the source before an offset, except plain imports at module level."""
        source, position = self.source, self.position
        run: list[PlainImport] = []
        at = position - 1
        while (at := source.find(b"import ", at + 1, end)) >= 0:
            start = source.rfind(b"\n", position, at) + 1 or position
            found = plain_import(source, start, end)
            if found is None or self._begins_inside(start):
                continue
            self._parts.append(source[position:start])
            line = self._count(start)
            if not run or _BEYOND.search(source, position, start):
                self._parts.append(b"pass")
                run = self._imports[line] = []
            self._parts.append(b"\n" * source.count(b"\n", start, found.end))
            last = line + source.count(b"\n", start, found.closed)
            run.append((line, last, found.module, found.level, found.names))
            position = found.end
            at = position - 1
        self._parts.append(source[position:end])

    def _begins_inside(self, offset: int) -> bool:
        """Return True if the line at an offset continues a string or a statement of the line before."""
        return self.source.endswith(b"\\\n", 0, offset) or bool(string_around(*self._placed, offset))

    def skeleton(self) -> Skeleton:
        """Return the finished skeleton, including the rest of the source."""
        self._leave(len(self.source))
        return Skeleton(b"".join(self._parts), self.spans, self.names, self._runs, self._imports)


def _blank(token: re.Match[bytes]) -> bytes:
    """Return the replacement for a string or comment, whose brackets must not be counted."""
    return b"" if token.group().startswith(b"#") else b"0"


def skeleton(source: bytes) -> Skeleton | None:
    """Blank the function bodies of `source`, whose line ends are normalised; None if it must be
    parsed whole.
    """
    if compiled_skeleton is None:
        return interpreted_skeleton(source)
    made = compiled_skeleton(source)
    return None if made is None else Skeleton(*made)


def interpreted_skeleton(source: bytes) -> Skeleton | None:
    """Do the same as the compiled function; for use without a C compiler."""
    if b"\f" in source:
        return None
    placed = triple_quoted(source)
    if placed is None:
        return None
    starts, ends = placed
    writer = _Writer(source, starts, ends)
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
        if found is None or (starts and string_around(starts, ends, start)):
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
    """Record the dotted names in a header, each with the line of its first use."""
    for part in header.split(b","):
        if b"." in part:
            annotation = part[part.find(b":") + 1 :] or part  # many parameters have equal annotations
            if annotation not in met:
                met.add(annotation)
                for name in _DOTTED.findall(part):
                    names.setdefault(name, line)


def _header(source: bytes, position: int) -> tuple[int, bytes | None] | None:
    """Return the offset of the first body line, and the header if it can be stripped without losing a call;
    None if unclear.
    """
    common = _PLAIN_HEADER.match(source, position)
    if common is not None and common.end() - position <= _LONGEST_HEADER:
        text = source[position : common.end() - 1]
        quoted = b'"' in text or b"'" in text or b"#" in text
        if not quoted or _FORMATTED.search(text) is None:
            if quoted:
                text = INLINE.sub(_blank, text)
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
            text = INLINE.sub(_blank, text)
            if b'"' in text or b"'" in text:
                return None
        opened = text.count(b"(")
        if opened == text.count(b")") and text.count(b"[") == text.count(b"]"):
            if not _HEADER_END.search(text[text.rfind(b"\n") + 1 :]) or b"\\" in text:
                return None
            # Headers that may contain a call, type parameters or a lambda are kept, because these must be
            # parsed.
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
    """Return the offset after the last line of a body that begins at `start`."""
    position = start - 1
    while True:
        found = dedent.search(source, position)
        if found is None:
            return len(source)
        end = found.start() + 1
        inside = starts and string_around(starts, ends, end)
        if not inside or starts[bisect_right(starts, end) - 1] == end:
            return end
        position = inside


#: The words to search for, in the order of their bits.
WORDS = (b"__future__", b"lazy", b"global", b"coldfork:")
FUTURE, LAZY, GLOBAL, MARK = (1 << bit for bit in range(len(WORDS)))


def words(source: bytes) -> int:
    """Return which of these words a source contains, with one bit for each word."""
    return interpreted_words(source) if compiled_words is None else compiled_words(source)


def interpreted_words(source: bytes) -> int:
    """Do the same as the compiled function; for use without a C compiler."""
    return sum(1 << bit for bit, word in enumerate(WORDS) if word in source)
