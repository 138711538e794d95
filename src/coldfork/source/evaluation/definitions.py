"""What an evaluator has found out about names, and the functions and classes that it has met.

A new evaluator starts with nothing: what was read of the modules stays, in the program.
"""

from __future__ import annotations

from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import ClassRef, Env, Function, Value

#: A module, a class in it (empty for the module itself), and a name.
Key = tuple[str, str, str]


class Definitions:
    """Values by name, and one object for each function and class that a module defines at its top level."""

    __slots__ = ("_classes", "_deriving", "_functions", "_program", "values")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._functions: dict[tuple[str, int], Function] = {}
        self._classes: dict[tuple[str, int], ClassRef] = {}
        self._deriving: dict[str, list[str]] | None = None
        self.values: dict[Key, tuple[Value | None, int]] = {}
        """What names were found to hold, each with the modules that were looked at for it."""

    def function(self, module: Module, node: Node, env: Env | None, owner: ClassRef | None) -> Function:
        """The function that a DEF node defines; one object a module-level definition."""
        if env is not None:
            return Function(module, node[1], node[2], node[5], env, owner)
        key = module.name, node[1]
        known = self._functions.get(key)
        if known is None:
            known = self._functions[key] = Function(module, node[1], node[2], node[5], env, owner)
        return known

    def class_ref(self, module: Module, node: Node, env: Env | None, within: str) -> ClassRef:
        """The class that a CLASS node defines; one object a module-level definition."""
        qualified = f"{within}.{node[2]}" if within else node[2]
        if env is not None:
            return ClassRef(module, node, env, qualified)
        key = module.name, node[1]
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = ClassRef(module, node, env, qualified)
        return known

    def code_of(self, function: Function) -> Node | None:
        """Parameters and block of a function."""
        return (
            function.code
            if function.code is not None
            else self._program.code_at(function.module, function.line)
        )

    def modules_deriving_from(self, name: str) -> list[str]:
        """The modules with a top-level class that has a base so named."""
        if self._deriving is None:
            self._deriving = {}
            for module, bases in sorted(self._program.derived.items()):
                for base in bases:
                    self._deriving.setdefault(base, []).append(module)
        return self._deriving.get(name, [])
