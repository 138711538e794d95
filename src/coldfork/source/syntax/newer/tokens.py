"""The tokens of a source, as far as rewriting needs them, including strings nested in f-strings.

The running `tokenize` stops at syntax that it does not know. This scanner knows the f-strings of Python 3.12
(any quotes, backslashes, comments and line ends inside a replacement field) and the t-strings of 3.14.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """The kind of a token."""

    NAME = auto()
    STRING = auto()
    OPERATOR = auto()
    NUMBER = auto()
    NEWLINE = auto()
    """The end of a logical line."""


class Field(NamedTuple):
    """A replacement field of an f-string: the position of its expression, its conversion and its
    specification.
    """

    start: int
    end: int
    shown: str
    """The text that `=` shows before the value; empty without it."""
    conversion: int
    """The character after `!` as a number; -1 without one."""
    specification: tuple[Part, ...] | None


class Literal(NamedTuple):
    """A part of a formatted string that is literal text."""

    start: int
    end: int


Part = Literal | Field


class Formatted(NamedTuple):
    """An f-string or t-string, divided into its parts."""

    end: int
    parts: tuple[Part, ...]
    nested: bool
    """True if Python 3.11 cannot read the string, even as an f-string."""


class Token(NamedTuple):
    """One token; comments and spaces are not tokens, nor are line ends inside brackets."""

    kind: Kind
    start: int
    end: int
    text: bytes
    formatted: Formatted | None = None

    @property
    def prefix(self) -> bytes:
        """The letters before the quotes of a string, in lower case."""
        return self.text[: len(self.text) - len(self.text.lstrip(b"rRbBuUfFtT"))].lower()


class Unscannable(Exception):
    """Raised if the source is not valid in any version of Python."""


_SPACE = re.compile(rb"(?:[ \t\f]|\\\n|#[^\n]*)+")
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_NUMBER = re.compile(rb"\.?\d(?:[eE][+-]\d|[\w.])*")
_OPENING = re.compile(rb"""([rRbBuUfFtT]{0,2})(\"\"\"|'''|"|')""")
_CLOSING = {
    quotes: re.compile(
        rb"(?:[^\\%b]|\\.|%b(?!%b))*?%b" % (quotes[:1], quotes[:1], quotes[1:], quotes), re.DOTALL
    )
    if len(quotes) == 3
    else re.compile(rb"(?:[^\\\n%b]|\\.)*%b" % (quotes, quotes), re.DOTALL)
    for quotes in (b'"', b"'", b'"""', b"'''")
}
_OPERATOR = re.compile(rb"\*\*=?|//=?|>>=?|<<=?|[-+*/%@&|^=!<>:]=|->|.", re.DOTALL)
_OPEN, _CLOSE = (b"(", b"[", b"{"), (b")", b"]", b"}")
_DEEPEST = 150


def scan(source: bytes) -> list[Token]:
    """Return all tokens of a source; raise `Unscannable` if it is not valid."""
    found: list[Token] = []
    position = depth = 0
    while position < len(source):
        position = _after_space(source, position)
        if source.startswith(b"\n", position):
            if depth == 0:
                found.append(Token(Kind.NEWLINE, position, position + 1, b"\n"))
            position += 1
            continue
        if position >= len(source):
            break
        token = _token(source, position, 0)
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        found.append(token)
        position = token.end
    return found


def _after_space(source: bytes, position: int) -> int:
    space = _SPACE.match(source, position)
    return position if space is None else space.end()


def _token(source: bytes, position: int, level: int) -> Token:
    opening = _OPENING.match(source, position)
    if opening is not None:
        return _string(source, opening, level)
    for kind, pattern in ((Kind.NAME, _WORD), (Kind.NUMBER, _NUMBER), (Kind.OPERATOR, _OPERATOR)):
        matched = pattern.match(source, position)
        if matched is not None:
            return Token(kind, position, matched.end(), matched.group())
    raise Unscannable


def _string(source: bytes, opening: re.Match[bytes], level: int) -> Token:
    start, prefix, quotes = opening.start(), opening.group(1).lower(), opening.group(2)
    if b"f" in prefix or b"t" in prefix:
        formatted = _Formatted(source, quotes, b"r" in prefix, level).read(opening.end())
        return Token(Kind.STRING, start, formatted.end, source[start : formatted.end], formatted)
    closed = _CLOSING[quotes].match(source, opening.end())
    if closed is None:
        raise Unscannable
    return Token(Kind.STRING, start, closed.end(), source[start : closed.end()])


class _Formatted:
    """Divides one f-string or t-string into its parts."""

    def __init__(self, source: bytes, quotes: bytes, raw: bool, level: int) -> None:
        if level > _DEEPEST:
            raise Unscannable
        self._source = source
        self._quotes = quotes
        self._raw = raw
        self._level = level
        self._nested = False

    def read(self, position: int) -> Formatted:
        parts, position = self._parts(position, in_specification=False)
        return Formatted(position + len(self._quotes), parts, self._nested)

    def _parts(self, position: int, *, in_specification: bool) -> tuple[tuple[Part, ...], int]:
        """Return the parts up to the closing quotes or, in a format specification, up to the end of its
        field.
        """
        source, parts, begun = self._source, list[Part](), position
        while True:
            here = source[position : position + 1]
            if in_specification and here == b"}":
                break
            if source.startswith(self._quotes, position):
                if in_specification:
                    raise Unscannable
                break
            if here == b"{" and (in_specification or source[position + 1 : position + 2] != b"{"):
                parts += [Literal(begun, position)] if position > begun else []
                field, position = self._field(position + 1)
                parts.append(field)
                begun = position
            else:
                position = self._past_text(position, here, in_specification)
        parts += [Literal(begun, position)] if position > begun else []
        return tuple(parts), position

    def _past_text(self, position: int, here: bytes, in_specification: bool) -> int:
        following = self._source[position + 1 : position + 2]
        if here == b"\\":
            if following == b"N" and not self._raw and self._source.startswith(b"{", position + 2):
                return self._source.index(b"}", position) + 1
            return position + (1 if following in (b"{", b"}") else 2)
        if here in (b"{", b"}") and not in_specification:
            if following != here:
                raise Unscannable
            return position + 2
        if not here or (here == b"\n" and len(self._quotes) == 1):
            raise Unscannable
        return position + 1

    def _field(self, position: int) -> tuple[Field, int]:
        """Return the field after an opening brace at `position`, and the position after the field."""
        start, depth, shown, end = position, 0, "", None
        while True:
            position = self._past_space(position)
            token = _token(self._source, position, self._level + 1)
            if depth == 0 and token.text[:1] in (b"}", b":", b"!") and token.text != b"!=":
                break
            if depth == 0 and token.text == b"=":
                end, position = position, self._past_space(position + 1)
                shown = self._source[start:position].decode("utf-8", "replace")
                break
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            self._meet(token)
            position = token.end
        return self._behind(start, position if end is None else end, position, shown)

    def _behind(self, start: int, end: int, position: int, shown: str) -> tuple[Field, int]:
        """Return the field with its conversion and specification, and the position after its closing
        brace.
        """
        conversion, specification = -1, None
        if self._source.startswith(b"!", position):
            name = _WORD.match(self._source, position + 1)
            if name is None or name.group() not in (b"r", b"s", b"a"):
                raise Unscannable
            conversion, position = name.group()[0], self._past_space(name.end())
        if self._source.startswith(b":", position):
            specification, position = self._parts(position + 1, in_specification=True)
        if not self._source.startswith(b"}", position) or not self._source[start:end].strip():
            raise Unscannable
        if shown and conversion < 0 and specification is None:
            conversion = ord("r")
        return Field(start, end, shown, conversion, specification), position + 1

    def _past_space(self, position: int) -> int:
        """Return the position after spaces, comments and line ends, the last two of which are newer syntax in
        a field.
        """
        while True:
            after = _after_space(self._source, position)
            if b"#" in self._source[position:after] or b"\\" in self._source[position:after]:
                self._nested = True
            if not self._source.startswith(b"\n", after):
                return after
            self._nested = self._nested or len(self._quotes) == 1
            position = after + 1

    def _meet(self, token: Token) -> None:
        """Record a token inside a field if Python 3.11 does not accept it there."""
        if token.kind is Kind.STRING:
            inner = token.formatted
            odd = any(mark in token.text for mark in (b"\\", b"#", self._quotes))
            newer = b"t" in token.prefix or (inner is not None and inner.nested)
            breaks = len(self._quotes) == 1 and b"\n" in token.text
            self._nested = self._nested or odd or newer or breaks
        elif token.text == b"\\":
            self._nested = True
