"""Whether an error that a line raises is sure to leave the function that the line stands in."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

_RAISED = RuntimeError
"""What PyTorch raises in a forked child of a process that has used the device."""
_LETS_THROUGH = ("torch", "open")
"""What the objects of `with` are made by that let every error pass."""
_PLAIN_DECORATORS = ("staticmethod", "classmethod", "property", "override", "torch")


def error_leaves(tree: ast.Module, line: int, *, called_by_name: bool) -> bool:
    """Whether nothing around a line, in its function, may end an error that it raises.

    `called_by_name` says that the decorators of the function stand between it and who calls it.
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
    """Whether a handler may get the error, and go on."""
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
    """Whether an expression is a call, or an attribute, of one of these names."""
    at = expression
    while isinstance(at, (ast.Call, ast.Attribute)):
        at = at.func if isinstance(at, ast.Call) else at.value
    return isinstance(at, ast.Name) and at.id in roots


def _leaves(node: ast.AST) -> bool:
    """Whether a statement may leave a `finally`, which drops the error."""
    return any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in ast.walk(node))


def _holding(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """The nodes that a line stands in, outermost first."""
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        if first is None:
            # A handler's list of names, arguments, or an item of `with`: they have no place of their own.
            yield from _holding(child, line)
        elif first <= line <= (getattr(child, "end_lineno", None) or first):
            yield child
            yield from _holding(child, line)
