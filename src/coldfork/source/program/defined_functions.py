"""The functions and methods that stand at the top of a module, and which of them hold some lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Class, Node


class Defined(NamedTuple):
    """A function that a module defines, by the node that does."""

    node: Node
    owner: Node | None
    """The class that it is a method of."""

    @property
    def name(self) -> str:
        """The name that it is defined by."""
        _, _, name, *_ = self.node
        return str(name)

    @property
    def line(self) -> int:
        """Where it begins."""
        return nodes.line_of(self.node)


def defined(module: Module) -> list[Defined]:
    """The functions and methods at the top of a module, in the order in which they stand."""
    return sorted(_defined(module), key=lambda one: one.line)


def holding(functions: list[Defined], lines: Iterable[int]) -> list[Defined]:
    """The functions that hold some lines; a line between two is taken for the first one's."""
    firsts = [one.line for one in functions]
    found = {bisect_right(firsts, line) - 1 for line in lines}
    return [functions[index] for index in sorted(found) if index >= 0]


def _defined(module: Module) -> Iterator[Defined]:
    for entries in module.summary.binds.values():
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_DEF:
                yield Defined(payload, None)
            elif how == nodes.BY_CLASS:
                yield from _methods(payload)


def _methods(node: Node) -> Iterator[Defined]:
    for entries in Class._make(node).binds.values():
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_DEF:
                yield Defined(payload, node)
