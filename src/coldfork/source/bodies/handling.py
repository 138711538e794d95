"""Whether an error raised at a line is sure to leave the enclosing function."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

_RAISED = RuntimeError
"""The error that PyTorch raises in a forked child of a process that has used the device."""
_LETS_THROUGH = ("torch", "open")
"""Libraries whose objects, used in a `with` statement, never suppress errors."""
_PLAIN_DECORATORS = ("staticmethod", "classmethod", "property", "override", "torch")


def error_leaves(tree: ast.Module, line: int, *, called_by_name: bool) -> bool:
    """Return whether an error raised at a line escapes from every `try` and `with` around it in the function.

    `called_by_name` says that callers reach the function through its decorators.
    """
    around: list[ast.AST] = []
    for node in _holding(tree, line):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            around = [node]
        elif isinstance(node, ast.ClassDef):
            around = []
        else:
            around.append(node)
    return not any(_may_end(node, line, called_by_name) for node in around)


def _may_end(node: ast.AST, line: int, called_by_name: bool) -> bool:
    match node:
        case ast.Try() | ast.TryStar():
            if any(map(_leaves, node.finalbody)):
                return True
            inside = node.body[0].lineno <= line <= (node.body[-1].end_lineno or node.body[-1].lineno)
            return inside and any(map(_ends, node.handlers))
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return not all(_is_made_by(item.context_expr, _LETS_THROUGH) for item in items)
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            return called_by_name and not all(_is_made_by(one, _PLAIN_DECORATORS) for one in decorators)
    return False


def _ends(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler may catch the error and not raise it again."""
    return _catches(handler.type) and not isinstance(handler.body[-1], ast.Raise)


def _catches(kinds: ast.expr | None) -> bool:
    match kinds:
        case ast.Tuple(elts=several):
            return any(map(_catches, several))
        case ast.Name(id=name):
            known = getattr(builtins, name, None)
            if isinstance(known, type) and issubclass(known, BaseException):
                return issubclass(_RAISED, known) or issubclass(known, _RAISED)
    return True


def _is_made_by(expression: ast.expr, roots: tuple[str, ...]) -> bool:
    """Return whether an expression is a chain of calls and attributes that begins with one of these names."""
    at = expression
    while isinstance(at, (ast.Call, ast.Attribute)):
        at = at.func if isinstance(at, ast.Call) else at.value
    return isinstance(at, ast.Name) and at.id in roots


def _leaves(node: ast.AST) -> bool:
    """Return whether code in a `finally` may leave it by `return`, `break` or `continue`, which discards the
    error.
    """
    return any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in ast.walk(node))


def _holding(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """Yield the nodes that contain a line, outermost first."""
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        if first is None:
            # Handlers, arguments and items of `with` have no position in the tree, but the nodes inside them
            # have.
            yield from _holding(child, line)
        elif first <= line <= (getattr(child, "end_lineno", None) or first):
            yield child
            yield from _holding(child, line)
