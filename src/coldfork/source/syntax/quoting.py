"""How code is quoted in few words."""

from __future__ import annotations

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node


def text_of(node: Node) -> str:
    """An expression as the source writes it, shortened."""
    op = node[0]
    if op == nodes.NAME:
        return str(node[1])
    if op == nodes.ATTR:
        return f"{text_of(node[1])}.{node[2]}"
    if op == nodes.CALL:
        return f"{text_of(node[1])}({'...' if node[2] or node[3] else ''})"
    if op == nodes.INDEX:
        inner = repr(node[2][1]) if node[2][0] == nodes.CONST else "..."
        return f"{text_of(node[1])}[{inner}]"
    if op == nodes.CONST:
        return repr(node[1])
    return "(...)"
