"""What one file holds for an import: its lowered body, its bindings, and where its functions are."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, NamedTuple

from coldfork.source.files.reading import CannotRead, normalise
from coldfork.source.syntax import nodes
from coldfork.source.syntax.capture_hints import capturing
from coldfork.source.syntax.ignore_comments import find_ignore_comments
from coldfork.source.syntax.lowering.blocks import lower_function, lower_module
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.nodes import Block, Code, Node, code_of
from coldfork.source.syntax.scopes import ImportRecord
from coldfork.source.syntax.skeleton import skeleton
from coldfork.source.syntax.syntax_errors import parse

_POSTPONED = re.compile(
    rb"^from[ \t]+__future__[ \t]+import[^\n]*(?:\n[^\n)]*)*?\bannotations\b", re.MULTILINE
)
_GLOBAL = re.compile(rb"^[ \t]+global[ \t]+([^\n#;]+)", re.MULTILINE)


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
    except CannotRead as problem:
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
    context = Context(0, postponed, spans, blanked.runs if blanked is not None and spans else {})
    body, scope = lower_module(context, tree.body)
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
        tuple(tuple(mark) for mark in find_ignore_comments(source)),
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


def function_code(source: bytes, start: int, end: int, line: int) -> Code | None:
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
        return code_of(lower_function(Context(offset), node))
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return None
