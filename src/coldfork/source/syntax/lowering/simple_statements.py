"""Lowers statements that contain no block, and records the names that they bind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from coldfork.source.syntax import nodes
from coldfork.source.syntax.imports import DECLARED, EAGER, Names, PlainImport, laziness
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.lowering.expressions import (
    UNKNOWN_CONSTANT,
    lower_expression,
    lower_optional,
    lower_target,
    operator_name,
)
from coldfork.source.syntax.newer.trees import TypeAlias
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.scopes import Scope, bind_target, boring

#: Lowers one kind of statement; returns None if the statement has no effect.
Lower = Callable[[Context, Any, Scope | None], Node | None]


def _expr(context: Context, node: ast.Expr, scope: Scope | None) -> Node | None:
    if isinstance(node.value, ast.Constant):
        return None
    value = lower_expression(context, node.value)
    if scope is not None and boring(value, context.lazy):
        return None
    return (nodes.EXPR, *context.ends(node), value)


def _assign(context: Context, node: ast.Assign, scope: Scope | None) -> Node:
    value = lower_expression(context, node.value)
    targets = tuple([lower_target(context, target) for target in node.targets])
    lowered: Node = (nodes.ASSIGN, *context.ends(node), targets, value)
    if scope is not None:
        for target in targets:
            bind_target(scope, target, value, lowered)
    return lowered


def _augmented(context: Context, node: ast.AugAssign, scope: Scope | None) -> Node:
    target = lower_target(context, node.target)
    right = lower_expression(context, node.value)
    lowered: Node = (nodes.AUGMENTED, *context.ends(node), target, operator_name(node.op), right)
    if scope is not None and isinstance(node.target, ast.Name):
        scope.bind(node.target.id, nodes.BY_STATEMENT, lowered, node.lineno + context.offset)
    return lowered


def _annotated(context: Context, node: ast.AnnAssign, scope: Scope | None) -> Node | None:
    target = lower_target(context, node.target)
    value = lower_optional(context, node.value)
    annotation: Node | None = None
    name = node.target.id if isinstance(node.target, ast.Name) else None
    if scope is not None and name is not None:
        line = node.lineno + context.offset
        if not isinstance(node.annotation, ast.Constant) or value is None:
            # If the name has a value, the annotation's content does not matter; otherwise it is all that is
            # known.
            typed = lower_annotation(context, node.annotation) if value is None else (nodes.CONST, None)
            scope.bind(name, nodes.BY_TYPE, typed, line)
        if value is not None:
            scope.bind(name, nodes.BY_VALUE, value, line)
    if scope is not None and context.deferred and node.simple and not scope.guards:
        read = lower_expression(context, node.annotation)
        if not boring(read, context.lazy):
            scope.annotations.append((nodes.EXPR, *context.ends(node), read))
    if scope is not None and not context.postponed:
        annotation = _annotation_effects(context, node.annotation, scope)
        if annotation is None and value is None:
            return None
        if annotation is None and value is not None and name is not None and boring(value, context.lazy):
            if len([how for how, *_ in scope.binds[name] if how != nodes.BY_TYPE]) == 1:
                return None
    elif scope is not None and value is None:
        return None
    return (nodes.ANNOTATED, *context.ends(node), target, annotation, value)


def _annotation_effects(context: Context, node: ast.expr, scope: Scope) -> Node | None:
    """Return the annotation if it contains a call; otherwise record the dotted names that it reads."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Subscript):
            pending += (current.value, current.slice)
        elif isinstance(current, (ast.Tuple, ast.List)):
            pending += current.elts
        elif isinstance(current, ast.BinOp):
            pending += (current.left, current.right)
        elif isinstance(current, ast.Attribute):
            dotted = _dotted(current)
            if dotted is None:
                return lower_expression(context, node)
            scope.loads.setdefault(dotted, current.lineno + context.offset)
        elif not isinstance(current, (ast.Name, ast.Constant)):
            return lower_expression(context, node)
    return None


def _dotted(node: ast.expr) -> str | None:
    """Return `a.b.c` as text; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join((node.id, *reversed(parts)))


def _alias(context: Context, node: TypeAlias, scope: Scope | None) -> Node:
    """Return an assignment for a `type` statement, whose value is evaluated only when needed."""
    lowered: Node = (nodes.ASSIGN, *context.ends(node), ((nodes.TO_NAME, node.name.id),), UNKNOWN_CONSTANT)
    if scope is not None:
        scope.bind(node.name.id, nodes.BY_VALUE, UNKNOWN_CONSTANT, node.lineno)
    return lowered


def _return(context: Context, node: ast.Return, scope: Scope | None) -> Node:
    return (nodes.RETURN, *context.ends(node), lower_optional(context, node.value))


def _raise(context: Context, node: ast.Raise, scope: Scope | None) -> Node:
    raised, cause = lower_optional(context, node.exc), lower_optional(context, node.cause)
    return (nodes.RAISE, node.lineno + context.offset, raised, cause)


def lower_plain_import(context: Context, plain: PlainImport, scope: Scope | None) -> Node:
    """Return the node of an import that the skeleton does not contain."""
    line, last, module, level, names = plain
    ends = line + context.offset, last + context.offset
    if level < 0:
        _bind_modules(scope, names, line, lazy=EAGER)
        return (nodes.IMPORT, *ends, names)
    _bind_imported(scope, module, level, names, line, lazy=EAGER)
    return (nodes.FROM, *ends, module, level, names)


def _import(context: Context, node: ast.Import, scope: Scope | None) -> Node:
    names = tuple([(alias.name, alias.asname) for alias in node.names])
    lazy = laziness(node)
    _bind_modules(scope, names, node.lineno, lazy)
    if lazy:
        return (nodes.LAZY_IMPORT, *context.ends(node), lazy == DECLARED, names)
    return (nodes.IMPORT, *context.ends(node), names)


def _bind_modules(scope: Scope | None, names: Names, line: int, lazy: int) -> None:
    """Record the bindings of an `import`."""
    if scope is not None:
        for name, alias in names:
            if not scope.typing_only:
                scope.imports.append((name, 0, None))
            payload: Node = (name, alias is not None)
            how = nodes.BY_IMPORT
            if lazy:
                how, payload = nodes.BY_LAZY_IMPORT, (*payload, lazy == DECLARED, line)
            scope.bind(alias or name.partition(".")[0], how, payload, line)


def _from(context: Context, node: ast.ImportFrom, scope: Scope | None) -> Node | None:
    if node.module == "__future__":
        return None
    names = tuple([(alias.name, alias.asname) for alias in node.names])
    lazy = laziness(node)
    _bind_imported(scope, node.module, node.level, names, node.lineno, lazy)
    if lazy:
        return (nodes.LAZY_FROM, *context.ends(node), lazy == DECLARED, node.module, node.level, names)
    return (nodes.FROM, *context.ends(node), node.module, node.level, names)


def _bind_imported(
    scope: Scope | None, module: str | None, level: int, names: Names, line: int, lazy: int
) -> None:
    """Record the bindings of a `from` import."""
    if scope is not None:
        if not scope.typing_only:
            scope.imports.append((module, level, tuple([name for name, _ in names])))
        for name, alias in names:
            if name == "*":
                if scope.typing_only:
                    continue
                scope.stars.append((module, level, scope.guards))
            elif lazy:
                payload = (module, level, name, lazy == DECLARED, line)
                scope.bind(alias or name, nodes.BY_LAZY_FROM, payload, line)
            else:
                scope.bind(alias or name, nodes.BY_FROM, (module, level, name), line)


def _assert(context: Context, node: ast.Assert, scope: Scope | None) -> Node:
    test = lower_expression(context, node.test)
    return (nodes.ASSERT, node.lineno + context.offset, test, context.span(node.test))


def _delete(context: Context, node: ast.Delete, scope: Scope | None) -> Node:
    targets = tuple([lower_expression(context, target) for target in node.targets])
    return (nodes.DELETE, node.lineno + context.offset, targets)


def _global(context: Context, node: ast.Global | ast.Nonlocal, scope: Scope | None) -> Node:
    op = nodes.GLOBAL if isinstance(node, ast.Global) else nodes.NONLOCAL
    return (op, node.lineno + context.offset, tuple(node.names))


SIMPLE: dict[type[ast.AST], Lower] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.AnnAssign: _annotated,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Import: _import,
    ast.ImportFrom: _from,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Break: lambda context, node, scope: (nodes.BREAK, node.lineno + context.offset),
    ast.Continue: lambda context, node, scope: (nodes.CONTINUE, node.lineno + context.offset),
    TypeAlias: _alias,
    getattr(ast, "TypeAlias", TypeAlias): _alias,
}


def lower_decorators(context: Context, decorators: Sequence[ast.expr]) -> tuple[tuple[Node, int], ...]:
    """Return the decorator expressions with their lines, outermost first."""
    return tuple([(lower_expression(context, node), node.lineno + context.offset) for node in decorators])


def lower_annotations(context: Context, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Node, ...]:
    """Return the annotations in a function's header; none if their evaluation is postponed."""
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
    """Rename type parameters in a header, so that they refer to no variable of the module."""
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
    """Return an annotation as an expression; a quoted annotation is parsed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            quoted = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return UNKNOWN_CONSTANT
        return lower_expression(Context(context.offset + node.lineno - 1), quoted)
    return lower_expression(context, node)
