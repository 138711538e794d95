"""How code is quoted in few words."""

from __future__ import annotations

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node


def text_of(node: Node) -> str:
    """An expression as the source writes it, shortened."""
    opcode = node[0]
    if opcode == nodes.NAME:
        _, name, _ = node
        return str(name)
    if opcode == nodes.ATTR:
        _, owner, attribute, _ = node
        return f"{text_of(owner)}.{attribute}"
    if opcode == nodes.CALL:
        _, function, positional, keywords, *_ = node
        return f"{text_of(function)}({'...' if positional or keywords else ''})"
    if opcode == nodes.INDEX:
        _, owner, index, _ = node
        return f"{text_of(owner)}[{repr(index[1]) if index[0] == nodes.CONST else '...'}]"
    if opcode == nodes.CONST:
        _, value = node
        return repr(value)
    return "(...)"
