"""Lower blocks: plain ones of function bodies, and scopes (module and class bodies) with their bindings."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from coldfork.source.syntax import nodes as ir
from coldfork.source.syntax.lowering.patterns import lower_pattern
from coldfork.source.syntax.lowering.simple_statements import SIMPLE, Lower
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.syntax.scopes import (
    Scope,
    bind_opaquely,
    boring,
    is_main_test,
    is_typing_test,
    names_in,
    pattern_names,
    prune,
    under_guard,
)

if TYPE_CHECKING:
    from coldfork.source.syntax.lowering.expressions import Lowerer


def lower_module(lowerer: Lowerer, nodes: Sequence[ast.stmt]) -> tuple[Block, Scope]:
    """Lower a module body."""
    scope = Scope()
    block = prune(_block(lowerer, nodes, scope), scope)
    return block, scope


def lower_block(lowerer: Lowerer, nodes: Sequence[ast.stmt]) -> Block:
    """Lower a block of a function."""
    return _block(lowerer, nodes, None)


def _block(lowerer: Lowerer, nodes: Sequence[ast.stmt], scope: Scope | None) -> Block:
    out: list[Node] = []
    runs = lowerer.runs
    for node in nodes:
        if node.lineno in runs and isinstance(node, ast.Assign):
            out += _run(node, runs[node.lineno], scope)
            continue
        method = _STATEMENTS.get(type(node))
        if method is not None:
            lowered = method(lowerer, node, scope)
            if lowered is not None:
                out.append(lowered)
    return tuple(out)


def _if(lowerer: Lowerer, node: ast.If, scope: Scope | None) -> Node | None:
    line = node.lineno + lowerer.offset
    if scope is not None and not node.orelse and is_main_test(node.test):
        return None
    test, span = lowerer.expression(node.test), lowerer.span(node.test)
    typing = scope is not None and is_typing_test(node.test)
    if scope is not None and typing:
        outer, scope.typing_only = scope.typing_only, True
    body = under_guard(scope, (ir.WHEN, test, True, line, span), lambda: _block(lowerer, node.body, scope))
    if scope is not None and typing:
        scope.typing_only = outer
    orelse = under_guard(
        scope, (ir.WHEN, test, False, line, span), lambda: _block(lowerer, node.orelse, scope)
    )
    if scope is not None and not body and not orelse and test[0] == ir.CONST:
        return None
    return (ir.IF, line, test, body, orelse, span)


def _try(lowerer: Lowerer, node: ast.Try, scope: Scope | None) -> Node:
    body = _block(lowerer, node.body, scope)
    handlers = []
    for handler in node.handlers:
        kind = None if handler.type is None else lowerer.expression(handler.type)
        line = handler.lineno + lowerer.offset
        guard: Node = (ir.AFTER_FAILURE, body, kind, line)
        block = under_guard(scope, guard, partial(_block, lowerer, handler.body, scope))
        handlers.append((kind, handler.name, block, line))
    orelse = _block(lowerer, node.orelse, scope)
    final = _block(lowerer, node.finalbody, scope)
    return (ir.TRY, node.lineno + lowerer.offset, body, tuple(handlers), orelse, final)


def _for(lowerer: Lowerer, node: ast.For | ast.AsyncFor, scope: Scope | None) -> Node:
    lowered: Node = (
        ir.FOR if isinstance(node, ast.For) else ir.ASYNC_FOR,
        node.lineno + lowerer.offset,
        lowerer.target(node.target),
        lowerer.expression(node.iter),
        _inner(lowerer, node.body, scope),
        _inner(lowerer, node.orelse, scope),
    )
    return bind_opaquely(
        lowered, scope, names_in([node.target, *node.body, *node.orelse]) if scope is not None else set()
    )


def _inner(lowerer: Lowerer, nodes: Sequence[ast.stmt], scope: Scope | None) -> Block:
    """A block inside a loop of a scope: its imports are noted, its names are bound by the whole statement."""
    if scope is not None:
        for node in nodes:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import):
                    scope.imports.extend((alias.name, 0, None) for alias in inner.names)
                elif isinstance(inner, ast.ImportFrom):
                    scope.imports.append((inner.module, inner.level, tuple(a.name for a in inner.names)))
    return _block(lowerer, nodes, None)


def _while(lowerer: Lowerer, node: ast.While, scope: Scope | None) -> Node:
    lowered: Node = (
        ir.WHILE,
        node.lineno + lowerer.offset,
        lowerer.expression(node.test),
        _inner(lowerer, node.body, scope),
        _inner(lowerer, node.orelse, scope),
        lowerer.span(node.test),
    )
    return bind_opaquely(lowered, scope, names_in([*node.body, *node.orelse]) if scope is not None else set())


def _with(lowerer: Lowerer, node: ast.With | ast.AsyncWith, scope: Scope | None) -> Node:
    items = tuple(
        (
            lowerer.expression(item.context_expr),
            None if item.optional_vars is None else lowerer.target(item.optional_vars),
        )
        for item in node.items
    )
    body = _block(lowerer, node.body, scope)
    op = ir.WITH if isinstance(node, ast.With) else ir.ASYNC_WITH
    lowered: Node = (op, node.lineno + lowerer.offset, items, body)
    names = names_in([i.optional_vars for i in node.items if i.optional_vars is not None]) if scope else set()
    return bind_opaquely(lowered, scope, names)


def _def(lowerer: Lowerer, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope | None) -> Node | None:
    decorators = lowerer.decorators(node.decorator_list)
    blanked = len(node.body) == 1 and isinstance(node.body[0], ast.Expr) and node.lineno in lowerer.blanked
    arguments = node.args
    header: Node | None = None
    if arguments.defaults or arguments.kw_defaults or not blanked:
        defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
        lowered_defaults = tuple([lowerer.expression(d) for d in defaults])
        annotations = lowerer.annotations(node)
        if annotations or not all(boring(d) for d in lowered_defaults):
            header = (lowered_defaults, annotations)
    elif node.returns is not None or arguments.args:
        annotations = lowerer.annotations(node)
        header = ((), annotations) if annotations else None
    code = None if blanked else lowerer.code(node)
    lowered: Node = (ir.DEF, node.lineno + lowerer.offset, node.name, decorators, header, code)
    if scope is not None:
        scope.bind(node.name, ir.BY_DEF, lowered, node.lineno)
    return lowered


def _run(node: ast.Assign, lines: Sequence[int], scope: Scope | None) -> list[Node]:
    """The functions for which a skeleton has put one assignment."""
    lowered: list[Node] = []
    for target, line in zip(node.targets, lines, strict=True):
        assert isinstance(target, ast.Name)
        function: Node = (ir.DEF, line, target.id, (), None, None)
        if scope is not None:
            scope.bind(target.id, ir.BY_DEF, function, line)
        lowered.append(function)
    return lowered


def _class(lowerer: Lowerer, node: ast.ClassDef, scope: Scope | None) -> Node | None:
    inner = Scope(scope)
    decorators = lowerer.decorators(node.decorator_list)
    bases = tuple([lowerer.expression(base) for base in node.bases])
    keywords = tuple([(k.arg, lowerer.expression(k.value)) for k in node.keywords])
    body = prune(_block(lowerer, node.body, inner), inner)
    lowered: Node = (
        ir.CLASS,
        node.lineno + lowerer.offset,
        node.name,
        decorators,
        bases,
        keywords,
        body,
        inner.frozen(),
    )
    if scope is not None:
        scope.bind(node.name, ir.BY_CLASS, lowered, node.lineno)
    return lowered


def _match(lowerer: Lowerer, node: ast.Match, scope: Scope | None) -> Node:
    cases = tuple(
        [
            (
                lower_pattern(case.pattern, lowerer.expression),
                None if case.guard is None else lowerer.expression(case.guard),
                _inner(lowerer, case.body, scope),
                case.pattern.lineno + lowerer.offset,
            )
            for case in node.cases
        ]
    )
    lowered: Node = (ir.MATCH, node.lineno + lowerer.offset, lowerer.expression(node.subject), cases)
    names: set[str] = set()
    if scope is not None:
        names = names_in([statement for case in node.cases for statement in case.body])
        names = names.union(*[pattern_names(case.pattern) for case in node.cases])
    return bind_opaquely(lowered, scope, names)


_STATEMENTS: dict[type[ast.AST], Lower] = {
    **SIMPLE,
    ast.If: _if,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.FunctionDef: _def,
    ast.AsyncFunctionDef: _def,
    ast.ClassDef: _class,
    ast.Match: _match,
}
