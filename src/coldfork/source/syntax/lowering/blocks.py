"""Lowers blocks: those of functions, and those of module and class bodies with their bindings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import partial

from coldfork.model.observations import describe
from coldfork.source.files.reading import CannotRead
from coldfork.source.syntax import nodes
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.lowering.expressions import (
    lower_expression,
    lower_optional,
    lower_parameters,
    lower_target,
)
from coldfork.source.syntax.lowering.simple_statements import (
    SIMPLE,
    Lower,
    hide_type_parameters,
    lower_annotation,
    lower_annotations,
    lower_decorators,
    lower_plain_import,
)
from coldfork.source.syntax.nodes import NO_PARAMETERS, Block, Node
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
from coldfork.source.syntax.syntax_errors import refuse_python_2


def lower_module(context: Context, statements: Iterable[ast.stmt]) -> tuple[Block, Scope]:
    """Lower a module body."""
    scope = Scope()
    block = prune(_block(context, statements, scope), scope, context.lazy)
    return block, scope


def lower_function(context: Context, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
    """Return the code of a whole function: parameters and block."""
    outer, context.yields = context.yields, False
    block = _block(context, node.body, None)
    arguments = node.args
    code: Node = (
        lower_parameters(context, arguments),
        block,
        context.yields,
        isinstance(node, ast.AsyncFunctionDef),
        node.name,
        node.lineno + context.offset,
        None if node.returns is None else lower_annotation(context, node.returns),
        tuple(
            (a.arg, lower_annotation(context, a.annotation))
            for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if a.annotation is not None
        ),
    )
    context.yields = outer
    return code


def _block(context: Context, statements: Iterable[ast.stmt], scope: Scope | None) -> Block:
    out: list[Node] = []
    runs, imports = context.runs, context.imports
    for node in statements:
        if node.lineno in runs and isinstance(node, ast.Assign):
            out += _run(node, runs[node.lineno], scope)
            continue
        if node.lineno in imports and isinstance(node, ast.Pass):
            out += [lower_plain_import(context, one, scope) for one in imports[node.lineno]]
            continue
        lower = _STATEMENTS.get(type(node))
        if lower is not None:
            try:
                lowered = lower(context, node, scope)
            except (CannotRead, SyntaxError, RecursionError, MemoryError):
                raise
            except Exception as problem:
                lowered = _failed(context, node, scope, problem)
            if lowered is not None:
                out.append(lowered)
    return tuple(out)


def _failed(context: Context, node: ast.stmt, scope: Scope | None, problem: Exception) -> Node:
    """Return a node for a statement that coldfork failed to lower; the fault is reported if the node
    is run.
    """
    lowered: Node = (nodes.FAULT, node.lineno + context.offset, describe(problem))
    return bind_opaquely(lowered, scope, names_in([node]) if scope is not None else set())


def _if(context: Context, node: ast.If, scope: Scope | None) -> Node | None:
    line = node.lineno + context.offset
    if scope is not None and not node.orelse and is_main_test(node.test):
        # These names are bound only if the module itself is run: other modules cannot use them.
        return (nodes.MAIN, line, _block(context, node.body, None))
    test, span = lower_expression(context, node.test), context.span(node.test)
    typing = scope is not None and is_typing_test(node.test)
    if scope is not None and typing:
        outer, scope.typing_only = scope.typing_only, True
    body = under_guard(scope, (nodes.WHEN, test, True, line, span), lambda: _block(context, node.body, scope))
    if scope is not None and typing:
        scope.typing_only = outer
    orelse = under_guard(
        scope, (nodes.WHEN, test, False, line, span), lambda: _block(context, node.orelse, scope)
    )
    if scope is not None and not body and not orelse and test[0] == nodes.CONST:
        return None
    return (nodes.IF, line, test, body, orelse, span)


def _try(context: Context, node: ast.Try, scope: Scope | None) -> Node:
    body = _block(context, node.body, scope)
    handlers = []
    for handler in node.handlers:
        if isinstance(handler.type, ast.Tuple):
            refuse_python_2(handler.type, context.target_version)
        kind = lower_optional(context, handler.type)
        line = handler.lineno + context.offset
        guard: Node = (nodes.AFTER_FAILURE, body, kind, line)
        block = under_guard(scope, guard, partial(_block, context, handler.body, scope))
        handlers.append((kind, handler.name, block, line))
    orelse = _block(context, node.orelse, scope)
    final = _block(context, node.finalbody, scope)
    return (nodes.TRY, node.lineno + context.offset, body, tuple(handlers), orelse, final)


def _for(context: Context, node: ast.For | ast.AsyncFor, scope: Scope | None) -> Node:
    op = nodes.FOR if isinstance(node, ast.For) else nodes.ASYNC_FOR
    target, iterated = lower_target(context, node.target), lower_expression(context, node.iter)
    body, orelse = _inner(context, node.body, scope), _inner(context, node.orelse, scope)
    names = names_in([node.target, *node.body, *node.orelse]) if scope is not None else set()
    return bind_opaquely((op, node.lineno + context.offset, target, iterated, body, orelse), scope, names)


def _inner(context: Context, statements: Sequence[ast.stmt], scope: Scope | None) -> Block:
    """Lower a block in a loop at module or class level, where the loop statement as a whole binds
    the names.
    """
    if scope is not None:
        for node in statements:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import):
                    scope.imports.extend((alias.name, 0, None) for alias in inner.names)
                elif isinstance(inner, ast.ImportFrom):
                    scope.imports.append((inner.module, inner.level, tuple(a.name for a in inner.names)))
    return _block(context, statements, None)


def _while(context: Context, node: ast.While, scope: Scope | None) -> Node:
    line, test = node.lineno + context.offset, lower_expression(context, node.test)
    body, orelse = _inner(context, node.body, scope), _inner(context, node.orelse, scope)
    names = names_in([*node.body, *node.orelse]) if scope is not None else set()
    return bind_opaquely((nodes.WHILE, line, test, body, orelse, context.span(node.test)), scope, names)


def _with(context: Context, node: ast.With | ast.AsyncWith, scope: Scope | None) -> Node:
    targets = [one.optional_vars and lower_target(context, one.optional_vars) for one in node.items]
    held = [lower_expression(context, one.context_expr) for one in node.items]
    items = tuple(zip(held, targets, strict=True))
    body = _block(context, node.body, scope)
    op = nodes.WITH if isinstance(node, ast.With) else nodes.ASYNC_WITH
    lowered: Node = (op, node.lineno + context.offset, items, body)
    names = names_in([i.optional_vars for i in node.items if i.optional_vars is not None]) if scope else set()
    return bind_opaquely(lowered, scope, names)


def _def(context: Context, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope | None) -> Node | None:
    hide_type_parameters(node)
    decorators = lower_decorators(context, node.decorator_list)
    blanked = len(node.body) == 1 and isinstance(node.body[0], ast.Expr) and node.lineno in context.blanked
    arguments = node.args
    header: Node | None = None
    if arguments.defaults or arguments.kw_defaults or not blanked:
        defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
        lowered_defaults = tuple([lower_expression(context, d) for d in defaults])
        annotations = lower_annotations(context, node)
        if annotations or not all(boring(d, context.lazy) for d in lowered_defaults):
            header = (lowered_defaults, annotations)
    elif node.returns is not None or arguments.args:
        annotations = lower_annotations(context, node)
        header = ((), annotations) if annotations else None
    code = None if blanked else lower_function(context, node)
    lowered: Node = (nodes.DEF, node.lineno + context.offset, node.name, decorators, header, code)
    if scope is not None:
        scope.bind(node.name, nodes.BY_DEF, lowered, node.lineno)
    return lowered


def _run(node: ast.Assign, lines: Sequence[int], scope: Scope | None) -> list[Node]:
    """Return the functions that the skeleton has combined into one assignment."""
    lowered: list[Node] = []
    for target, line in zip(node.targets, lines, strict=True):
        assert isinstance(target, ast.Name)
        function: Node = (nodes.DEF, line, target.id, (), None, None)
        if scope is not None:
            scope.bind(target.id, nodes.BY_DEF, function, line)
        lowered.append(function)
    return lowered


def _class(context: Context, node: ast.ClassDef, scope: Scope | None) -> Node | None:
    inner = Scope(scope)
    hide_type_parameters(node)
    decorators = lower_decorators(context, node.decorator_list)
    bases = tuple([lower_expression(context, base) for base in node.bases])
    keywords = tuple([(k.arg, lower_expression(context, k.value)) for k in node.keywords])
    body = prune(_block(context, node.body, inner), inner, context.lazy)
    if inner.annotations:
        line = node.lineno + context.offset
        none = tuple(NO_PARAMETERS)  # plain data, which can be stored
        code: Node = (none, tuple(inner.annotations), False, False, "__annotate__", line, None, ())
        inner.bind("__annotate__", nodes.BY_DEF, (nodes.DEF, line, "__annotate__", (), None, code), line)
    line = node.lineno + context.offset
    lowered: Node = (nodes.CLASS, line, node.name, decorators, bases, keywords, body, inner.frozen())
    if scope is not None:
        scope.bind(node.name, nodes.BY_CLASS, lowered, node.lineno)
    return lowered


def _case(context: Context, case: ast.match_case, scope: Scope | None) -> Node:
    pattern, guard = lower_pattern(context, case.pattern), lower_optional(context, case.guard)
    return (pattern, guard, _inner(context, case.body, scope), case.pattern.lineno + context.offset)


def _match(context: Context, node: ast.Match, scope: Scope | None) -> Node:
    cases = tuple([_case(context, case, scope) for case in node.cases])
    subject = lower_expression(context, node.subject)
    lowered: Node = (nodes.MATCH, node.lineno + context.offset, subject, cases)
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


def lower_pattern(context: Context, pattern: ast.pattern) -> Node:
    """Lower one pattern."""
    match pattern:
        case ast.MatchValue(value):
            return (nodes.CASE_VALUE, lower_expression(context, value))
        case ast.MatchSingleton(constant):
            return (nodes.CASE_CONSTANT, constant)
        case ast.MatchSequence(patterns):
            return (nodes.CASE_SEQUENCE, _each(context, patterns))
        case ast.MatchMapping(keys, patterns, rest):
            lowered = tuple([lower_expression(context, key) for key in keys])
            return (nodes.CASE_MAPPING, lowered, _each(context, patterns), rest)
        case ast.MatchClass(cls, patterns, names, named):
            own, others = _each(context, patterns), _each(context, named)
            return (nodes.CASE_CLASS, lower_expression(context, cls), own, tuple(names), others)
        case ast.MatchStar(name):
            return (nodes.CASE_STAR, name)
        case ast.MatchAs(inner, name):
            return (nodes.CASE_AS, None if inner is None else lower_pattern(context, inner), name)
        case ast.MatchOr(patterns):
            return (nodes.CASE_OR, _each(context, patterns))
    raise TypeError(pattern)


def _each(context: Context, patterns: list[ast.pattern]) -> tuple[Node, ...]:
    return tuple([lower_pattern(context, one) for one in patterns])
