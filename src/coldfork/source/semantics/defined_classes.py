"""The classes that modules define."""

from __future__ import annotations

from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import ClassRef, Env


class DefinedClasses:
    """One object for each class that stands in no function; those in functions are made anew each time."""

    __slots__ = ("_classes",)

    def __init__(self) -> None:
        self._classes: dict[tuple[str, int], ClassRef] = {}

    def of(self, module: Module, node: Node, env: Env | None, within: str) -> ClassRef:
        """The class that a CLASS node defines; `within` is the class around it, if there is one."""
        _, line, name, *_ = node
        known = self._classes.get((module.name, line)) if env is None else None
        if known is None:
            known = ClassRef(module, node, env, f"{within}.{name}" if within else name)
            if env is None:
                self._classes[module.name, line] = known
        return known
