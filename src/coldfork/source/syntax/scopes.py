"""What a module or class body binds, and which of its statements only do that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from coldfork.source.syntax import nodes as ir
from coldfork.source.syntax.nodes import Block, Node

Guards = tuple[Node, ...]
ImportRecord = tuple[str | None, int, tuple[str, ...] | None]


class Scope:
    """What a module or class body binds, collected while it is lowered."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.binds: dict[str, list[Node]] = {}
        self.guards: Guards = ()
        self.typing_only: bool = parent.typing_only if parent else False
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


def prune(block: Block, scope: Scope) -> Block:
    """Drop what only binds a name that nothing else binds: look-ups find it without running it."""
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


def bind_target(scope: Scope, target: Node, value: Node | None, statement: Node) -> None:
    """Record what assigning `value` to a target binds."""
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
            bind_target(scope, element, pairs[index] if exact else None, statement)
    elif target[0] == ir.TO_STAR:
        bind_target(scope, target[1], None, statement)


def under_guard(scope: Scope | None, guard: Node, work: Callable[[], Block]) -> Block:
    """Lower a block whose bindings depend on `guard`."""
    if scope is None:
        return work()
    outer = scope.guards
    scope.guards = (*outer, guard)
    try:
        return work()
    finally:
        scope.guards = outer


def is_typing_test(node: ast.expr) -> bool:
    """True for `if TYPE_CHECKING:`."""
    return (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING") or (
        isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING"
    )


def is_main_test(node: ast.expr) -> bool:
    """True for `if __name__ == "__main__":`."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
        and len(node.ops) == 1
        and isinstance(node.ops[0], ast.Eq)
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value == "__main__"
    )


def bind_opaquely(lowered: Node, scope: Scope | None, names: set[str]) -> Node:
    """Bind names that only running the statement can tell."""
    if scope is not None:
        for name in sorted(names):
            scope.bind(name, ir.BY_STATEMENT, lowered, lowered[1])
    return lowered


def names_in(nodes: Sequence[ast.stmt | ast.expr]) -> set[str]:
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


def pattern_names(pattern: ast.pattern) -> set[str]:
    """The names that a `case` pattern binds."""
    found = set()
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return found
