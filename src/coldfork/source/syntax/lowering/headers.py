"""Lower what stands around a function's parameters: decorators and annotations."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.lowering.expressions import UNKNOWN_CONSTANT, lower_expression
from coldfork.source.syntax.nodes import Node


def lower_decorators(context: Context, decorators: Sequence[ast.expr]) -> tuple[tuple[Node, int], ...]:
    """Decorator expressions with their lines, outermost first."""
    return tuple([(lower_expression(context, node), node.lineno + context.offset) for node in decorators])


def lower_annotations(context: Context, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Node, ...]:
    """The annotations of a header, unless they are postponed."""
    if context.postponed:
        return ()
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    found = [a.annotation for a in every if a.annotation is not None]
    if node.returns is not None:
        found.append(node.returns)
    return tuple([lower_expression(context, a) for a in found if not isinstance(a, (ast.Constant, ast.Name))])


def hide_type_parameters(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Make the type parameters in a header names of their own: no variable of the module is meant by them."""
    hidden = {parameter.name for parameter in getattr(node, "type_params", ())}
    if not hidden:
        return
    parts: list[ast.AST | None]
    if isinstance(node, ast.ClassDef):
        parts = [*node.bases, *node.keywords]
    else:
        parts = [child.annotation for child in ast.walk(node.args) if isinstance(child, ast.arg)]
        parts.append(node.returns)
    for part in parts:
        for name in ast.walk(part) if part is not None else ():
            if isinstance(name, ast.Name) and name.id in hidden:
                name.id = f"_.{name.id}"


def lower_annotation(context: Context, node: ast.expr) -> Node:
    """An annotation as an expression, the text of a quoted one included."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            quoted = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return UNKNOWN_CONSTANT
        return lower_expression(Context(context.offset + node.lineno - 1), quoted)
    return lower_expression(context, node)
