"""Which of two lines of a module's own code runs first, where the text alone decides that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path


def runs_before(file: str, first: int, second: int) -> bool:
    """Whether the statement on line `first` is over, or was left out, when that on line `second` begins.

    False too where only a run could tell: inside one loop, one statement, or the arms of one `try`.
    """
    block: Sequence[ast.stmt] | None = _statements(file)
    while block:
        one, other = _index(block, first), _index(block, second)
        if one is None or other is None:
            return False
        if one != other:
            return one < other
        blocks = _blocks(block[one])
        block = next((inner for inner in blocks if _holds(inner, first) and _holds(inner, second)), None)
    return False


def _statements(file: str) -> tuple[ast.stmt, ...]:
    try:
        return tuple(ast.parse(Path(file).read_bytes()).body)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


def _index(block: Sequence[ast.stmt], line: int) -> int | None:
    """Which statement of a block holds a line."""
    spans = (
        (number, _begins(statement), statement.end_lineno or statement.lineno)
        for number, statement in enumerate(block)
    )
    return next((number for number, begin, end in spans if begin <= line <= end), None)


def _holds(block: Sequence[ast.stmt], line: int) -> bool:
    return _index(block, line) is not None


def _begins(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """The blocks of a statement that run from top to bottom, once."""
    if isinstance(statement, ast.If | ast.With | ast.ClassDef | ast.Try | ast.TryStar):
        yield statement.body
    if isinstance(statement, ast.If | ast.Try | ast.TryStar):
        yield statement.orelse
    if isinstance(statement, ast.Try | ast.TryStar):
        yield statement.finalbody
        yield from (handler.body for handler in statement.handlers)
    if isinstance(statement, ast.Match):
        yield from (case.body for case in statement.cases)
