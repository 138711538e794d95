"""What one file holds for an import: its lowered body, its bindings, and where its functions are."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import Any, NamedTuple

from coldfork.source.files.reading import Unreadable, normalise
from coldfork.source.syntax import nodes
from coldfork.source.syntax.capture_hints import capturing
from coldfork.source.syntax.lowering.blocks import lower_module
from coldfork.source.syntax.lowering.expressions import Lowerer
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.syntax.scopes import ImportRecord
from coldfork.source.syntax.skeleton import skeleton

_IGNORE = re.compile(rb"#\s*coldfork:\s*ignore(?:\[([^\]\n]*)\])?([^\n]*)")
_POSTPONED = re.compile(
    rb"^from[ \t]+__future__[ \t]+import[^\n]*(?:\n[^\n)]*)*?\bannotations\b", re.MULTILINE
)
_GLOBAL = re.compile(rb"^[ \t]+global[ \t]+([^\n#;]+)", re.MULTILINE)


class IgnoreMark(NamedTuple):
    """An ignore comment: line, column, rules, reason, and the lines of the statement it stands on."""

    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]


class Summary(NamedTuple):
    """One file, reduced. Plain data throughout, so that `marshal` can store it."""

    body: Block
    binds: dict[str, tuple[Node, ...]]
    spans: dict[int, tuple[int, int]]
    imports: tuple[ImportRecord, ...]
    stars: tuple[Node, ...]
    postponed: bool
    rebound: frozenset[str]
    ignores: tuple[tuple[Any, ...], ...]
    error: tuple[str, int, int] | None = None
    captures: bool = False
    """True when the file may capture a CUDA graph."""


def unreadable(reason: str, line: int = 1, column: int = 0) -> Summary:
    """The summary of a file that could not be analysed."""
    return Summary((), {}, {}, (), (), False, frozenset(), (), (reason, line, column))


def summarise(raw: bytes, target_version: tuple[int, int]) -> Summary:
    """Reduce the bytes of one file; what cannot be analysed becomes a summary that says why."""
    try:
        return _summarise(normalise(raw), target_version)
    except Unreadable as problem:
        return unreadable(problem.reason, problem.line, problem.column)
    except (RecursionError, MemoryError):
        return unreadable("an expression is nested too deeply")


def _summarise(source: bytes, target_version: tuple[int, int]) -> Summary:
    postponed = target_version >= (3, 14) or (
        b"__future__" in source and _POSTPONED.search(source) is not None
    )
    blanked = skeleton(source)
    tree: ast.Module | None = None
    spans: dict[int, tuple[int, int]] = {}
    if blanked is not None and blanked.spans:
        tree = _parse_quietly(blanked.text)
        if tree is not None:
            spans = {line: (span.start, span.end) for line, span in blanked.spans.items()}
    if tree is None:
        tree = parse(source)
    lowerer = Lowerer(0, postponed, spans, blanked.runs if blanked is not None and spans else {})
    body, scope = lower_module(lowerer, tree.body)
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
        frozenset(_rebound(source)),
        tuple(tuple(mark) for mark in _ignores(source)),
        None,
        capturing(source),
    )


def _rebound(source: bytes) -> set[str]:
    """Names of the module that some function declares `global`."""
    if b"global " not in source:
        return set()
    found: set[str] = set()
    for match in _GLOBAL.finditer(source):
        found.update(name.strip().decode("utf-8", "replace") for name in match.group(1).split(b","))
    return found


def _parse_quietly(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def parse(source: bytes) -> ast.Module:
    """Parse a whole file; `Unreadable` says in words what is wrong and which Python would read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise Unreadable(
            _explain(error, source), error.lineno or 1, max(0, (error.offset or 1) - 1)
        ) from None
    except ValueError as error:
        raise Unreadable(str(error)) from None


_PYTHON_2 = re.compile(
    rb"^[ \t]*(?:print[ \t]+[^\s(=]|exec[ \t]+['\"\w]|raise[ \t]+\w+[ \t]*,"
    rb"|except[ \t]+[\w.]+[ \t]*,[ \t]*[a-z_]\w*[ \t]*:)",
    re.MULTILINE,
)
_NEWER = (
    (
        (3, 14),
        re.compile(
            rb"\b[rRfF]?[tT][rR]?['\"]|^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*[\w., \t]+:"
            rb"|^[ \t]*except[ \t]+[\w.]+,",
            re.MULTILINE,
        ),
    ),
    ((3, 13), re.compile(rb"^[ \t]*(?:class|def|type)[ \t]+\w+\[[^\]\n]*=[^\]\n]*\]", re.MULTILINE)),
    (
        (3, 12),
        re.compile(
            rb"^[ \t]*type[ \t]+\w+|^[ \t]*(?:async[ \t]+)?(?:class|def)[ \t]+\w+\[|\bf['\"]", re.MULTILINE
        ),
    ),
)


def _explain(error: SyntaxError, source: bytes) -> str:
    """Why the file does not parse, with the Python that would read it where the construct gives it away."""
    lines = source.splitlines()
    line = lines[(error.lineno or 1) - 1] + b"\n" if 0 < (error.lineno or 1) <= len(lines) else b""
    running = sys.version_info[:2]
    message = (error.msg or "invalid syntax").rstrip(".")
    if _PYTHON_2.search(line):
        return f"is Python 2 source ({message})"
    for version, pattern in _NEWER:
        if version > running and pattern.search(line):
            return (
                f"uses syntax of Python {version[0]}.{version[1]}, "
                f"which Python {running[0]}.{running[1]} cannot read; "
                f"run coldfork with Python {version[0]}.{version[1]} or newer ({message})"
            )
    return f"does not parse: {message}"


def _ignores(source: bytes) -> list[IgnoreMark]:
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


def explain_body(source: bytes, start: int, end: int) -> str:
    """Why a function that was blanked does not parse."""
    text = source[start:end]
    try:
        parse(b"if 1:\n" + text if text[:1] in (b" ", b"\t") else text)
    except Unreadable as problem:
        return problem.reason
    except (RecursionError, MemoryError):
        return "an expression is nested too deeply"
    return "a function could not be read"


def function_code(source: bytes, start: int, end: int, line: int) -> Node | None:
    """Parse and lower one blanked function."""
    text = source[start:end]
    offset = line - 1
    if text[:1] in (b" ", b"\t"):
        text = b"if 1:\n" + text
        offset -= 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree: Any = ast.parse(text)
        node = tree.body[0]
        if isinstance(node, ast.If):
            node = node.body[0]
        return Lowerer(offset).code(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return None
