"""The bindings of a module or class body, and the statements that do nothing but bind a name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, line_of
from coldfork.source.syntax.walk import children

Guards = tuple[Node, ...]
ImportRecord = tuple[str | None, int, tuple[str, ...] | None]
#: Kinds of expressions that have no effects besides those of their parts.
_BORING = frozenset({
    nodes.CONST, nodes.NAME, nodes.LAMBDA, nodes.SEQUENCE, nodes.DICT, nodes.OTHER, nodes.SLICE, nodes.NOT,
    nodes.STAR,
})  # fmt: skip


class Scope:
    """The bindings of a module or class body, collected during lowering."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.binds: dict[str, list[Node]] = {}
        self.guards: Guards = ()
        self.typing_only: bool = parent.typing_only if parent else False
        self.imports: list[ImportRecord] = parent.imports if parent else []
        self.stars: list[Node] = parent.stars if parent else []
        self.loads: dict[str, int] = parent.loads if parent else {}
        self.annotations: list[Node] = []
        """Annotations that are evaluated only when someone reads them, as statements."""

    def bind(self, name: str, how: int, payload: Any, line: int) -> None:
        """Record one binding of `name`."""
        self.binds.setdefault(name, []).append((how, payload, line, self.guards))

    def frozen(self) -> dict[str, tuple[Node, ...]]:
        """Return the bindings as plain data."""
        return {name: tuple(entries) for name, entries in self.binds.items()}


def boring(node: Node, lazy: frozenset[str] = frozenset()) -> bool:
    """Return True if evaluating the expression cannot affect a device; reading a name in `lazy` can, by an
    import.
    """
    opcode = node[0]
    if opcode == nodes.CONST or (opcode == nodes.NAME and not lazy):
        return True  # true of nearly all expressions, and checked for every assignment
    if opcode == nodes.NAME:
        _, name, _ = node
        return name not in lazy
    if opcode == nodes.JOINED:
        return all(
            part[0] == nodes.CONST for part in children(node)
        )  # formatting any other part may run code
    return opcode in _BORING and all(boring(part, lazy) for part in children(node))


def prune(block: Block, scope: Scope, lazy: frozenset[str] = frozenset()) -> Block:
    """Drop statements that only bind a name that nothing else binds: a lookup finds its value
    without them.
    """
    return tuple([node for node in block if not _only_binds(node, scope, lazy)])


def _only_binds(node: Node, scope: Scope, lazy: frozenset[str]) -> bool:
    if node[0] == nodes.ASSIGN:
        _, _, _, targets, value = node
        return all(t[0] == nodes.TO_NAME and len(scope.binds[t[1]]) == 1 for t in targets) and boring(
            value, lazy
        )
    if node[0] == nodes.DEF:
        _, _, name, decorators, header, _ = node
        return not decorators and header is None and len(scope.binds[name]) == 1
    if node[0] == nodes.CLASS:
        _, _, name, decorators, bases, keywords, body, _ = node
        return not (decorators or bases or keywords or body) and len(scope.binds[name]) == 1
    return False


def bind_target(scope: Scope, target: Node, value: Node | None, statement: Node) -> None:
    """Record the bindings made by assigning `value` to a target."""
    if target[0] == nodes.TO_NAME:
        _, name = target
        how, payload = (nodes.BY_STATEMENT, statement) if value is None else (nodes.BY_VALUE, value)
        scope.bind(name, how, payload, line_of(statement))
    elif target[0] == nodes.TO_TUPLE:
        _, targets = target
        values = children(value) if value is not None and value[0] == nodes.SEQUENCE else []
        exact = len(values) == len(targets) and not any(one[0] == nodes.STAR for one in values)
        for index, element in enumerate(targets):
            bind_target(scope, element, values[index] if exact else None, statement)
    elif target[0] == nodes.TO_STAR:
        _, starred = target
        bind_target(scope, starred, None, statement)


def under_guard(scope: Scope | None, guard: Node, work: Callable[[], Block]) -> Block:
    """Lower a block whose bindings are made only if `guard` holds."""
    if scope is None:
        return work()
    outer = scope.guards
    scope.guards = (*outer, guard)
    try:
        return work()
    finally:
        scope.guards = outer


def is_typing_test(node: ast.expr) -> bool:
    """Return True for `if TYPE_CHECKING:`."""
    return (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING") or (
        isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING"
    )


def is_main_test(node: ast.expr) -> bool:
    """Return True for `if __name__ == "__main__":`."""
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
    """Bind names to a statement that must be run to find their values."""
    if scope is not None:
        for name in sorted(names):
            scope.bind(name, nodes.BY_STATEMENT, lowered, line_of(lowered))
    return lowered


def names_in(parts: Sequence[ast.stmt | ast.expr]) -> set[str]:
    """Return every name that these statements may bind in the scope that contains them."""
    found: set[str] = set()
    pending: list[ast.AST] = list(parts)
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
    """Return the names that the pattern of a `case` binds."""
    found = set()
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return found
