"""What an evaluator has found out about names, and the functions and classes that it has met.

A new evaluator starts with nothing: what was read of the modules stays, in the program.
"""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.semantics.defined_classes import DefinedClasses
from coldfork.source.syntax.nodes import Code, Node, code_of
from coldfork.source.values.kinds import ClassRef, Env, Function, Value

#: A module, a class in it (empty for the module itself), and a name; of a name that is bound again later,
#: how many of its bindings have been made.
Key = tuple[str, str, str] | tuple[str, str, str, int]


class Definitions:
    """Values by name, and one object for each function and class that a module defines at its top level."""

    __slots__ = ("_classes", "_codes", "_deriving", "_functions", "_program", "values")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._functions: dict[tuple[str, int], Function] = {}
        self._classes = DefinedClasses()
        self._codes: dict[int, tuple[Node, Code]] = {}
        """Code by the identity of its node, which is kept so that the number stays its own."""
        self._deriving: dict[str, list[str]] | None = None
        self.values: dict[Key, tuple[Value | None, int]] = {}
        """What names were found to hold, each with the modules that were looked at for it."""

    def function(self, module: Module, node: Node, env: Env | None, owner: ClassRef | None) -> Function:
        """The function that a DEF node defines; one object a module-level definition."""
        _, line, name, _decorators, _header, raw = node
        known = self._functions.get((module.name, line)) if env is None else None
        if known is None:
            code = self.code_for(raw, code_of) if raw is not None else None
            known = Function(module, line, name, code, env, owner)
            if env is None:
                self._functions[module.name, line] = known
        return known

    def class_ref(self, module: Module, node: Node, env: Env | None, within: str) -> ClassRef:
        """The class that a CLASS node defines; one object a module-level definition."""
        return self._classes.of(module, node, env, within)

    def code_for(self, node: Node, make: Callable[[Node], Code]) -> Code:
        """The code that is made from a node: one object a node, because calls are remembered by it."""
        known = self._codes.get(id(node))
        if known is None:
            known = self._codes[id(node)] = node, make(node)
        _, code = known
        return code

    def code_of(self, function: Function) -> Code | None:
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
