"""Which import statements could be lazy: those of a module's own level that no `try` watches."""

from __future__ import annotations

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Case, Node, line_of


def may_be_lazy(block: Block, line: int) -> bool:
    """True for an import at a line of a module's body that Python would let be lazy (PEP 810)."""
    return any(_found(node, line) for node in block if node[0] != nodes.LOADS)


def _found(node: Node, line: int) -> bool:
    match node:
        case (nodes.IMPORT, *_):
            return line_of(node) == line
        case (nodes.FROM, _, _, _, _, names):
            return line_of(node) == line and all(name != "*" for name, _ in names)
        case (nodes.IF | nodes.WHILE, _, _, body, orelse, _) | (
            nodes.FOR | nodes.ASYNC_FOR,
            _,
            _,
            _,
            body,
            orelse,
        ):
            return may_be_lazy(body, line) or may_be_lazy(orelse, line)
        case (nodes.WITH | nodes.ASYNC_WITH, _, _, body):
            return may_be_lazy(body, line)
        case (nodes.TRY, _, _, _, _, final):
            return may_be_lazy(final, line)
        case (nodes.MATCH, _, _, cases):
            return any(may_be_lazy(Case._make(one).block, line) for one in cases)
    return False
