"""Whether one line of a function runs whenever another one does, and before it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from coldfork.source.files.reading import CannotRead
from coldfork.source.syntax.newer.parsing import parse_any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: What of an expression may be left out when it is evaluated.
_OPTIONAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class AlwaysBefore:
    """Reads the files that it is asked about, each once."""

    def __init__(self, read_source: Callable[[str], bytes]) -> None:
        self._read_source = read_source
        self._trees: dict[str, ast.Module | None] = {}

    def __call__(self, path: str, earlier: int, later: int) -> bool:
        """True when the first line cannot be left out on the way to the second, in one call."""
        tree = self._tree(path)
        if tree is None or earlier >= later:
            return False
        body = _innermost_body(tree, later)
        return body is not None and _leads_past(body, earlier, later)

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                self._trees[path] = parse_any(self._read_source(path))
            except (CannotRead, SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[path] = None
        return self._trees[path]


def _innermost_body(tree: ast.Module, line: int) -> Sequence[ast.stmt] | None:
    """The body of the innermost function that holds a line."""
    found: Sequence[ast.stmt] | None = None
    for node in ast.walk(tree):  # outer functions come before those inside of them
        if isinstance(node, _FUNCTIONS) and node.body[0].lineno <= line <= (node.end_lineno or 0):
            found = node.body
    return found


def _leads_past(block: Sequence[ast.stmt], earlier: int, later: int) -> bool:
    """Whether whoever gets to the later line in this block has been at the earlier one."""
    for statement in block:
        if _holds(statement, later):
            if _header_runs(statement, earlier):
                return not any(_holds(part, later) for part in _header(statement))
            inside = [block for block in _blocks(statement) if any(_holds(inner, later) for inner in block)]
            return any(_leads_past(block, earlier, later) for block in inside)
        if _header_runs(statement, earlier):
            return True
    return False


def _header_runs(statement: ast.stmt, line: int) -> bool:
    """Whether all that a statement has on a line is evaluated whenever it runs."""
    if any(_holds(inner, line) for block in _blocks(statement) for inner in block):
        return False
    held = [part for part in _header(statement) if _holds(part, line)]
    return bool(held) and all(_is_evaluated(part, line) for part in held)


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are evaluated first, and always."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    if isinstance(statement, (ast.If, ast.While)):
        yield statement.test
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.iter
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from (item.context_expr for item in statement.items)
    elif isinstance(statement, ast.Match):
        yield statement.subject
    elif isinstance(statement, ast.Assert):
        yield statement.test
    elif not any(_blocks(statement)):
        yield from ast.iter_child_nodes(statement)


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """The blocks of a compound statement that are no function's."""
    if isinstance(statement, _FUNCTIONS):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    inner: Iterable[ast.AST] = (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))
    yield from (part.body for part in inner if isinstance(part, (ast.ExceptHandler, ast.match_case)))


def _is_evaluated(part: ast.AST, line: int) -> bool:
    """Whether evaluating an expression always evaluates all of it that stands on a line."""
    if not _holds(part, line) or isinstance(part, _OPTIONAL):
        return False
    optional: Sequence[ast.AST] = ()
    if isinstance(part, ast.BoolOp):
        optional = part.values[1:]
    elif isinstance(part, ast.Compare):
        optional = part.comparators[1:]
    elif isinstance(part, ast.IfExp):
        optional = (part.body, part.orelse)
    if any(_holds(one, line) for one in optional):
        return False
    inner = [one for one in ast.iter_child_nodes(part) if _holds(one, line)]
    return all(_is_evaluated(one, line) for one in inner)


def _holds(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last
