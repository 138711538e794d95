"""The facts about a file that its import depends on: its lowered body, bindings, and positions of
functions.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any, NamedTuple

from coldfork.model.observations import FAILED, describe
from coldfork.source.files.reading import CannotRead, normalise
from coldfork.source.syntax import nodes
from coldfork.source.syntax.imports import declare, may_be_listed, may_be_spelt
from coldfork.source.syntax.large_files import is_large, statements
from coldfork.source.syntax.lowering.blocks import lower_function, lower_module
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.newer.parsing import parse_any
from coldfork.source.syntax.nodes import Block, Code, Node, code_of
from coldfork.source.syntax.scopes import ImportRecord, Scope
from coldfork.source.syntax.skeleton import FUTURE, GLOBAL, LAZY, MARK, Skeleton, skeleton, words
from coldfork.source.syntax.syntax_errors import TOO_DEEP, parse

_POSTPONED = re.compile(
    rb"^from[ \t]+__future__[ \t]+import[^\n]*(?:\n[^\n)]*)*?\bannotations\b", re.MULTILINE
)
_GLOBAL = re.compile(rb"global[ \t]+([^\n#;]+)")


class Summary(NamedTuple):
    """The summary of one file, made of plain data so that `marshal` can store it."""

    body: Block
    binds: dict[str, tuple[Node, ...]]
    spans: dict[int, tuple[int, int]]
    imports: tuple[ImportRecord, ...]
    stars: tuple[Node, ...]
    postponed: bool
    rebound: frozenset[str]
    ignores: tuple[tuple[Any, ...], ...]
    error: tuple[str, int, int] | None = None
    lazy: frozenset[str] = frozenset()
    """The names that lazy imports bind, and the dotted names of the submodules that they import."""
    deferred: bool = False
    """True if annotations are evaluated only when they are read."""


def unreadable(reason: str, line: int = 1, column: int = 0) -> Summary:
    """Return a summary for a file that could not be analysed, with the reason."""
    return Summary((), {}, {}, (), (), False, frozenset(), (), (reason, line, column))


def summarise(raw: bytes, target_version: tuple[int, int]) -> Summary:
    """Return the summary of a file, given its bytes; if it cannot be analysed, the summary says why."""
    try:
        return _summarise(normalise(raw), target_version)
    except CannotRead as problem:
        return unreadable(problem.reason, problem.line, problem.column)
    except (RecursionError, MemoryError):
        return unreadable(TOO_DEEP)
    except Exception as problem:
        return unreadable(f"{FAILED}{describe(problem)}")


def _summarise(source: bytes, target_version: tuple[int, int]) -> Summary:
    held = words(source)
    written_out = bool(held & FUTURE) and _POSTPONED.search(source) is not None
    deferred = target_version >= (3, 14) and not written_out
    postponed = deferred or written_out
    # A file that may have lazy imports is parsed whole: a lazy import in a function is a syntax error, and
    # default values in a header may read a lazily imported name.
    lazily = bool(held & LAZY) and (may_be_listed(source, target_version) or may_be_spelt(source))
    blanked = None if lazily else skeleton(source)
    if blanked is not None and not blanked.spans and not blanked.imports:
        blanked = None
    lowered = None if lazily else _lower_quietly(source, blanked, target_version, postponed, deferred)
    if lowered is None:
        blanked = None
        tree = parse(source)
        lazy = declare(tree, source, target_version) if lazily else frozenset()
        context = Context(0, postponed, lazy=lazy, target_version=target_version, deferred=deferred)
        lowered = context, *lower_module(context, tree.body)
    context, body, scope = lowered
    spans = blanked.spans if blanked is not None else {}
    loads = dict(scope.loads)
    if blanked is not None and spans and not postponed:
        for name, line in blanked.header_names.items():
            loads.setdefault(name.decode(), line)
    if loads:
        body = (*body, (nodes.LOADS, 0, tuple(loads.items())))
    return Summary(
        body,
        scope.frozen(),
        spans,
        tuple(dict.fromkeys(scope.imports)),
        tuple(scope.stars),
        postponed,
        frozenset(_rebound(source) if held & GLOBAL else ()),
        tuple(tuple(mark) for mark in find_ignore_comments(source)) if held & MARK else (),
        None,
        context.lazy,
        deferred,
    )


def _rebound(source: bytes) -> set[str]:
    """Return the names that functions of a module declare `global`."""
    found: set[str] = set()
    at = -1
    while (at := source.find(b"global", at + 1)) >= 0:  # faster than a regular expression for lines
        before = source[source.rfind(b"\n", 0, at) + 1 : at]
        match = _GLOBAL.match(source, at) if before and not before.strip(b" \t") else None
        if match is not None:
            found.update(name.strip().decode("utf-8", "replace") for name in match.group(1).split(b","))
    return found


def _lower_quietly(
    source: bytes, blanked: Skeleton | None, target_version: tuple[int, int], postponed: bool, deferred: bool
) -> tuple[Context, Block, Scope] | None:
    """Lower a file's skeleton, or its full source, without warnings; None if it is not valid Python."""
    text = source if blanked is None else blanked.text
    in_parts = is_large(text)
    if blanked is None and not in_parts:
        return None
    context = Context(0, postponed, target_version=target_version, deferred=deferred)
    if blanked is not None:
        context.blanked, context.runs, context.imports = blanked.spans, blanked.runs, blanked.imports
    if in_parts:
        with suppress(SyntaxError, ValueError):
            return context, *lower_module(context, statements(text))
    if blanked is None:
        return None
    try:
        tree = parse_any(text)
    except (SyntaxError, ValueError):
        return None
    return context, *lower_module(context, tree.body)


def function_code(source: bytes, start: int, end: int, line: int) -> Code | None:
    """Return the code of one blanked function, parsed and lowered."""
    text = source[start:end]
    offset = line - 1
    if text[:1] in (b" ", b"\t"):
        text = b"if 1:\n" + text
        offset -= 1
    try:
        tree: Any = parse_any(text)
        if not tree.body:
            return None
        node = tree.body[0]
        if isinstance(node, ast.If):
            node = node.body[0]
        return code_of(lower_function(Context(offset), node))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_IGNORE = re.compile(rb"#\s*coldfork:\s*ignore(?:\[([^\]\n]*)\])?([^\n]*)")


class IgnoreMark(NamedTuple):
    """An ignore comment: line, column, rules, reason, and the lines of its statement."""

    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]


def find_ignore_comments(source: bytes) -> list[IgnoreMark]:
    """Return the ignore comments, each with its statement's lines; similar text in a string does not
    count.
    """
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
    """Return the lines of the statement with `line`; a comment on its own line belongs to the next
    statement.
    """
    for first, last in extents:
        if first <= line <= last:
            return first, last
    following = [extent for extent in extents if extent[0] > line]
    return following[0] if following else (line, line)
