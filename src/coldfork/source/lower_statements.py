"""Lower blocks: plain ones of function bodies, and scopes (module and class bodies) with their bindings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from coldfork.source import ir
from coldfork.source.ir import Block, Node
from coldfork.source.lower import Lowerer

Guards = tuple[Node, ...]
ImportRecord = tuple[str | None, int, tuple[str, ...] | None]


class Scope:
    """What a module or class body binds, collected while it is lowered."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.binds: dict[str, list[Node]] = {}
        self.guards: Guards = ()
        self.typing_only = parent.typing_only if parent else False
        self.imports: list[ImportRecord] = parent.imports if parent else []
        self.stars: list[Node] = parent.stars if parent else []
        self.loads: dict[str, int] = parent.loads if parent else {}

    def bind(self, name: str, how: int, payload: Any, line: int) -> None:
        """Record one way in which `name` gets its value."""
        self.binds.setdefault(name, []).append((how, payload, line, self.guards))

    def frozen(self) -> dict[str, tuple[Node, ...]]:
        """The bindings as plain data."""
        return {name: tuple(entries) for name, entries in self.binds.items()}


def boring(node: Node) -> bool:
    """True when evaluating the expression can have no effect on a device."""
    op = node[0]
    if op in (ir.CONST, ir.NAME):
        return True
    if op == ir.LAMBDA:
        parameters = node[1][0]
        return all(default is None or boring(default) for default in (*parameters[1], *parameters[4]))
    if op == ir.JOINED:
        return all(part[0] == ir.CONST for part in node[1])  # anything else is formatted, by code of its own
    if op == ir.SEQUENCE:
        return all(boring(e) for e in node[2])
    if op == ir.DICT:
        return all(k is None or boring(k) for k in node[1]) and all(boring(v) for v in node[2])
    if op in (ir.OTHER, ir.SLICE):
        return all(boring(e) for e in node[1])
    if op in (ir.NOT, ir.STAR):
        return boring(node[1])
    return False


def lower_module(lowerer: Lowerer, nodes: Sequence[ast.stmt]) -> tuple[Block, Scope]:
    """Lower a module body."""
    scope = Scope()
    block = _prune(_block(lowerer, nodes, scope), scope)
    return block, scope


def lower_block(lowerer: Lowerer, nodes: Sequence[ast.stmt]) -> Block:
    """Lower a block of a function."""
    return _block(lowerer, nodes, None)


def _prune(block: Block, scope: Scope) -> Block:
    """Drop what only binds a name, where it is the name's only binding: look-ups find it without running it."""
    return tuple([node for node in block if not _only_binds(node, scope)])


def _only_binds(node: Node, scope: Scope) -> bool:
    if node[0] == ir.ASSIGN:
        return all(t[0] == ir.TO_NAME and len(scope.binds[t[1]]) == 1 for t in node[3]) and boring(node[4])
    if node[0] == ir.DEF:
        return not node[3] and node[4] is None and len(scope.binds[node[2]]) == 1
    if node[0] == ir.CLASS:
        _, _, name, decorators, bases, keywords, body, _ = node
        return not (decorators or bases or keywords or body) and len(scope.binds[name]) == 1
    return False


def _block(lowerer: Lowerer, nodes: Sequence[ast.stmt], scope: Scope | None) -> Block:
    out: list[Node] = []
    for node in nodes:
        method = _STATEMENTS.get(type(node))
        if method is not None:
            lowered = method(lowerer, node, scope)
            if lowered is not None:
                out.append(lowered)
    return tuple(out)


def _ends(lowerer: Lowerer, node: ast.stmt) -> tuple[int, int]:
    return node.lineno + lowerer.offset, (node.end_lineno or node.lineno) + lowerer.offset


def _expr(lowerer: Lowerer, node: ast.Expr, scope: Scope | None) -> Node | None:
    if isinstance(node.value, ast.Constant):
        return None
    value = lowerer.expression(node.value)
    if scope is not None and boring(value):
        return None
    return (ir.EXPR, *_ends(lowerer, node), value)


def _assign(lowerer: Lowerer, node: ast.Assign, scope: Scope | None) -> Node:
    value = lowerer.expression(node.value)
    targets = tuple([lowerer.target(target) for target in node.targets])
    lowered: Node = (ir.ASSIGN, *_ends(lowerer, node), targets, value)
    if scope is not None:
        for target in targets:
            _bind_target(scope, target, value, lowered)
    return lowered


def _bind_target(scope: Scope, target: Node, value: Node | None, statement: Node) -> None:
    line = statement[1]
    if target[0] == ir.TO_NAME:
        if value is not None:
            scope.bind(target[1], ir.BY_VALUE, value, line)
        else:
            scope.bind(target[1], ir.BY_STATEMENT, statement, line)
    elif target[0] == ir.TO_TUPLE:
        pairs = value[2] if value is not None and value[0] == ir.SEQUENCE else ()
        exact = len(pairs) == len(target[1]) and not any(p[0] == ir.STAR for p in pairs)
        for index, element in enumerate(target[1]):
            _bind_target(scope, element, pairs[index] if exact else None, statement)
    elif target[0] == ir.TO_STAR:
        _bind_target(scope, target[1], None, statement)


def _augmented(lowerer: Lowerer, node: ast.AugAssign, scope: Scope | None) -> Node:
    target = lowerer.target(node.target)
    lowered: Node = (
        ir.AUGMENTED,
        *_ends(lowerer, node),
        target,
        lowerer.operator(node.op),
        lowerer.expression(node.value),
    )
    if scope is not None and target[0] == ir.TO_NAME:
        scope.bind(target[1], ir.BY_STATEMENT, lowered, lowered[1])
    return lowered


def _annotated(lowerer: Lowerer, node: ast.AnnAssign, scope: Scope | None) -> Node | None:
    target = lowerer.target(node.target)
    value = None if node.value is None else lowerer.expression(node.value)
    annotation: Node | None = None
    if scope is not None and target[0] == ir.TO_NAME:
        line = node.lineno + lowerer.offset
        if not isinstance(node.annotation, ast.Constant) or value is None:
            scope.bind(target[1], ir.BY_TYPE, lowerer.annotation(node.annotation), line)
        if value is not None:
            scope.bind(target[1], ir.BY_VALUE, value, line)
    if scope is not None and not lowerer.postponed:
        annotation = _annotation_effects(lowerer, node.annotation, scope)
        if annotation is None and (value is None or (boring(value) and target[0] == ir.TO_NAME)):
            if value is None or len([b for b in scope.binds[target[1]] if b[0] != ir.BY_TYPE]) == 1:
                return None
    elif scope is not None and value is None:
        return None
    return (ir.ANNOTATED, *_ends(lowerer, node), target, annotation, value)


def _annotation_effects(lowerer: Lowerer, node: ast.expr, scope: Scope) -> Node | None:
    """The annotation if it holds a call; otherwise note the dotted names that it reads."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return None
    calls = False
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Call, ast.Await, ast.NamedExpr, ast.ListComp, ast.GeneratorExp)):
            calls = True
        elif isinstance(inner, ast.Attribute):
            scope.loads.setdefault(ast.unparse(inner), inner.lineno + lowerer.offset)
    return lowerer.expression(node) if calls else None


def _under(scope: Scope | None, guard: Node, work: Callable[[], Block]) -> Block:
    if scope is None:
        return work()
    outer = scope.guards
    scope.guards = (*outer, guard)
    try:
        return work()
    finally:
        scope.guards = outer


def _is_typing_test(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING") or (
        isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING"
    )


def _is_main_test(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
        and len(node.ops) == 1
        and isinstance(node.ops[0], ast.Eq)
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value == "__main__"
    )


def _if(lowerer: Lowerer, node: ast.If, scope: Scope | None) -> Node | None:
    line = node.lineno + lowerer.offset
    if scope is not None and not node.orelse and _is_main_test(node.test):
        return None
    test, span = lowerer.expression(node.test), lowerer.span(node.test)
    typing = scope is not None and _is_typing_test(node.test)
    if scope is not None and typing:
        outer, scope.typing_only = scope.typing_only, True
    body = _under(scope, (ir.WHEN, test, True, line, span), lambda: _block(lowerer, node.body, scope))
    if scope is not None and typing:
        scope.typing_only = outer
    orelse = _under(scope, (ir.WHEN, test, False, line, span), lambda: _block(lowerer, node.orelse, scope))
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
        block = _under(scope, guard, lambda handler=handler: _block(lowerer, handler.body, scope))  # type: ignore[misc]
        handlers.append((kind, handler.name, block, line))
    orelse = _block(lowerer, node.orelse, scope)
    final = _block(lowerer, node.finalbody, scope)
    return (ir.TRY, node.lineno + lowerer.offset, body, tuple(handlers), orelse, final)


def _opaque(lowered: Node, scope: Scope | None, names: set[str]) -> Node:
    """Bind names that only running the statement can tell."""
    if scope is not None:
        for name in sorted(names):
            scope.bind(name, ir.BY_STATEMENT, lowered, lowered[1])
    return lowered


def _names_in(nodes: Sequence[ast.stmt | ast.expr]) -> set[str]:
    """Every name that the statements may bind in their own scope."""
    found: set[str] = set()
    pending: list[ast.AST] = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((a.asname or a.name.partition(".")[0]) for a in node.names if a.name != "*")
        elif not isinstance(node, ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return found


def _for(lowerer: Lowerer, node: ast.For | ast.AsyncFor, scope: Scope | None) -> Node:
    lowered: Node = (
        ir.FOR if isinstance(node, ast.For) else ir.ASYNC_FOR,
        node.lineno + lowerer.offset,
        lowerer.target(node.target),
        lowerer.expression(node.iter),
        _inner(lowerer, node.body, scope),
        _inner(lowerer, node.orelse, scope),
    )
    return _opaque(
        lowered, scope, _names_in([node.target, *node.body, *node.orelse]) if scope is not None else set()
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
    return _opaque(lowered, scope, _names_in([*node.body, *node.orelse]) if scope is not None else set())


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
    names = (
        _names_in([i.optional_vars for i in node.items if i.optional_vars is not None]) if scope else set()
    )
    return _opaque(lowered, scope, names)


def _return(lowerer: Lowerer, node: ast.Return, scope: Scope | None) -> Node:
    return (ir.RETURN, *_ends(lowerer, node), None if node.value is None else lowerer.expression(node.value))


def _raise(lowerer: Lowerer, node: ast.Raise, scope: Scope | None) -> Node:
    return (
        ir.RAISE,
        node.lineno + lowerer.offset,
        None if node.exc is None else lowerer.expression(node.exc),
    )


def _import(lowerer: Lowerer, node: ast.Import, scope: Scope | None) -> Node:
    names = tuple((alias.name, alias.asname) for alias in node.names)
    if scope is not None:
        for name, alias in names:
            if not scope.typing_only:
                scope.imports.append((name, 0, None))
            scope.bind(alias or name.partition(".")[0], ir.BY_IMPORT, (name, alias is not None), node.lineno)
    return (ir.IMPORT, *_ends(lowerer, node), names)


def _from(lowerer: Lowerer, node: ast.ImportFrom, scope: Scope | None) -> Node | None:
    if node.module == "__future__":
        return None
    names = tuple((alias.name, alias.asname) for alias in node.names)
    if scope is not None:
        if not scope.typing_only:
            scope.imports.append((node.module, node.level, tuple(name for name, _ in names)))
        for name, alias in names:
            if name == "*":
                if scope.typing_only:
                    continue
                scope.stars.append((node.module, node.level, scope.guards))
            else:
                scope.bind(alias or name, ir.BY_FROM, (node.module, node.level, name), node.lineno)
    return (ir.FROM, *_ends(lowerer, node), node.module, node.level, names)


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
    elif not blanked or node.returns is not None or arguments.args:
        annotations = lowerer.annotations(node)
        header = ((), annotations) if annotations else None
    code = None if blanked else lowerer.code(node)
    lowered: Node = (ir.DEF, node.lineno + lowerer.offset, node.name, decorators, header, code)
    if scope is not None:
        scope.bind(node.name, ir.BY_DEF, lowered, node.lineno)
    return lowered


def _class(lowerer: Lowerer, node: ast.ClassDef, scope: Scope | None) -> Node | None:
    inner = Scope(scope)
    decorators = lowerer.decorators(node.decorator_list)
    bases = tuple([lowerer.expression(base) for base in node.bases])
    keywords = tuple([(k.arg, lowerer.expression(k.value)) for k in node.keywords])
    body = _prune(_block(lowerer, node.body, inner), inner)
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
    cases = []
    for case in node.cases:
        wild = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
        value = lowerer.expression(case.pattern.value) if isinstance(case.pattern, ast.MatchValue) else None
        guard = None if case.guard is None else lowerer.expression(case.guard)
        names = tuple(sorted(_pattern_names(case.pattern)))
        cases.append(
            (
                wild,
                value,
                guard,
                _inner(lowerer, case.body, scope),
                names,
                case.pattern.lineno + lowerer.offset,
            )
        )
    lowered: Node = (ir.MATCH, node.lineno + lowerer.offset, lowerer.expression(node.subject), tuple(cases))
    names_bound = _names_in([s for case in node.cases for s in case.body]) if scope is not None else set()
    return _opaque(lowered, scope, names_bound)


def _pattern_names(pattern: ast.pattern) -> set[str]:
    found = set()
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return found


def _assert(lowerer: Lowerer, node: ast.Assert, scope: Scope | None) -> Node:
    return (ir.ASSERT, node.lineno + lowerer.offset, lowerer.expression(node.test), lowerer.span(node.test))


def _delete(lowerer: Lowerer, node: ast.Delete, scope: Scope | None) -> Node:
    return (ir.DELETE, node.lineno + lowerer.offset, tuple([lowerer.expression(t) for t in node.targets]))


def _global(lowerer: Lowerer, node: ast.Global | ast.Nonlocal, scope: Scope | None) -> Node:
    op = ir.GLOBAL if isinstance(node, ast.Global) else ir.NONLOCAL
    return (op, node.lineno + lowerer.offset, tuple(node.names))


def _break(lowerer: Lowerer, node: ast.Break, scope: Scope | None) -> Node:
    return (ir.BREAK, node.lineno + lowerer.offset)


def _continue(lowerer: Lowerer, node: ast.Continue, scope: Scope | None) -> Node:
    return (ir.CONTINUE, node.lineno + lowerer.offset)


_STATEMENTS: dict[type[ast.AST], Callable[[Lowerer, Any, Scope | None], Node | None]] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.AnnAssign: _annotated,
    ast.If: _if,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Import: _import,
    ast.ImportFrom: _from,
    ast.FunctionDef: _def,
    ast.AsyncFunctionDef: _def,
    ast.ClassDef: _class,
    ast.Match: _match,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Break: _break,
    ast.Continue: _continue,
}
