"""The text of a source file, spans in it, and replacements of spans."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from coldfork.model.causes import Edit

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
BESIDE = "another statement shares its line"
_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING})


class CannotMend(Exception):
    """Raised if a fix cannot be right; the message gives the reason as a clause without a full stop."""


@dataclass(frozen=True, slots=True, order=True)
class Replacement:
    """The new text for the span between two offsets."""

    start: int
    end: int
    text: str


class SourceText:
    """The text of a file, with conversions between offsets and places."""

    def __init__(self, data: bytes) -> None:
        try:
            self.encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            self.text = data.decode(self.encoding)
        except (SyntaxError, UnicodeDecodeError):
            raise CannotMend("its text cannot be decoded") from None
        self._lines = _lines(self.text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    @property
    def newline(self) -> str:
        """The line end that the file uses."""
        first = self._lines[0]
        return first[len(first.rstrip("\r\n")) :] or "\n"

    @property
    def length(self) -> int:
        """The number of lines; text after the last line end is not counted as one."""
        return len(self._lines) - (0 if self._lines[-1] else 1)

    def line(self, number: int) -> str:
        """Return a line without its line end."""
        return self._lines[number - 1].rstrip("\r\n")

    def line_start(self, number: int) -> int:
        """Return the offset at which a line begins; for the line after the last, the end of the text."""
        return self._starts[number - 1]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place given by `ast`, whose columns count bytes of UTF-8."""
        text = self._lines[line - 1]
        if not text.isascii():
            column = len(text.encode("utf-8")[:column].decode("utf-8", "replace"))
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
        """Return the span of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def indent(self, line: int) -> str:
        """Return the whitespace before the first word of a line."""
        text = self.line(line)
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def edit(self, path: str, replacement: Replacement) -> Edit:
        """Return a replacement in the form that reports use."""
        line, column = self._place(replacement.start)
        end_line, end_column = self._place(replacement.end)
        return Edit(path, line, column, end_line, end_column, replacement.text)

    def replacement(self, edit: Edit) -> Replacement:
        """Return the replacement that an edit from a report describes."""
        start, end = self.line_start(edit.line), self.line_start(edit.end_line)
        return Replacement(start + edit.column - 1, end + edit.end_column - 1, edit.text)

    def comment_behind(self, statement: ast.stmt) -> str:
        """Return the comment after a statement's last line, which has to move with the statement."""
        last = statement.end_lineno or statement.lineno
        _, end = self.span(statement)
        rest = self.text[end : self.line_start(last) + len(self.line(last))].strip()
        if rest and not rest.startswith("#"):
            raise CannotMend(BESIDE)
        return f"  {rest}" if rest else ""

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset, hi=len(self._lines))
        return line, offset - self._starts[line - 1] + 1

    def encoded(self, text: str) -> bytes:
        """Return a text in the encoding of the file."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:
            raise CannotMend("its encoding cannot hold the fix") from None


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their line ends, as the tokenizer counts them."""
    found = _LINE.findall(text)
    # Text after the last line end counts as a line even if it is empty, because the tokenizer ends there.
    return found if text.endswith(("\n", "\r")) or not text else found[:-1]


def replaced(source: SourceText, replacements: Iterable[Replacement]) -> str:
    """Return the text after these replacements; it must parse, with all other code unchanged."""
    ordered = sorted(set(replacements))
    if any(one.end > other.start for one, other in pairwise(ordered)):
        raise CannotMend("two of its edits overlap")
    parts, at, kept = [], 0, []
    length = 0
    for each in ordered:
        parts += [source.text[at : each.start], each.text]
        length += each.start - at
        kept.append((length, length + len(each.text)))
        length += len(each.text)
        at = each.end
    text = "".join((*parts, source.text[at:]))
    before, after = _tokens(source.text), _tokens(text)
    if not _parses(text) or before is None or after is None:
        raise CannotMend("the result cannot be parsed")
    outside = list(_outside(before, [(each.start, each.end) for each in ordered]))
    if outside != list(_outside(after, kept)):
        raise CannotMend("it would change how the code beside it is parsed")
    written = "".join(each.text for each in ordered)
    for offset, comment in before:
        is_replaced = any(each.start <= offset < each.end for each in ordered)
        if comment.startswith("#") and is_replaced and comment not in written:
            raise CannotMend(f"the comment `{comment}` would be lost")
    return text


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            # The parser by itself would accept a name that is both a parameter and global.
            compile(text, "<fix>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _tokens(text: str) -> list[tuple[int, str]] | None:
    """Return the tokens of a text with offsets, without layout tokens; None if it cannot be tokenized."""
    starts = [0]
    for line in _lines(text):
        starts.append(starts[-1] + len(line))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    return [
        (starts[token.start[0] - 1] + token.start[1], token.string)
        for token in tokens
        if token.type not in _LAYOUT and token.string
    ]


def _outside(tokens: Iterable[tuple[int, str]], spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    for offset, string in tokens:
        if not any(start <= offset < end for start, end in spans):
            yield string
