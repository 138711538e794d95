"""How code is quoted in few words."""

from __future__ import annotations

from coldfork.source import ir
from coldfork.source.ir import Node


def text_of(node: Node) -> str:
    """An expression as the source writes it, shortened."""
    op = node[0]
    if op == ir.NAME:
        return str(node[1])
    if op == ir.ATTR:
        return f"{text_of(node[1])}.{node[2]}"
    if op == ir.CALL:
        return f"{text_of(node[1])}({'...' if node[2] or node[3] else ''})"
    if op == ir.INDEX:
        inner = repr(node[2][1]) if node[2][0] == ir.CONST else "..."
        return f"{text_of(node[1])}[{inner}]"
    if op == ir.CONST:
        return repr(node[1])
    return "(...)"
