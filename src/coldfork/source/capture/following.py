"""What following captured code needs of the one who follows: the port between the parts and the whole.

An expression holds calls, a call runs statements, and statements hold expressions: the modules of this room
reach each other through this class, which `Follower` implements on top of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from coldfork.source.capture.names import Names
from coldfork.source.capture.objects import Arguments, Func, Object, Value
from coldfork.source.capture.state import Frame, Run
from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Const


class Following(ABC):
    """One function that captures, being followed."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.run = Run(names)

    @property
    def frame(self) -> Frame:
        """The function that is being followed."""
        return self.run.stack[-1]

    @abstractmethod
    def evaluate(self, node: Node) -> Value:
        """What an expression gives."""

    @abstractmethod
    def execute(self, block: Block) -> bool:
        """Follow statements; True when nothing behind them is reached."""

    @abstractmethod
    def level(self, node: Node | None) -> int:
        """How much an expression depends on the batch."""

    @abstractmethod
    def call(self, func: Func, given: Arguments) -> Value:
        """Follow a call of a function of the checked code."""

    @abstractmethod
    def annotate(self, module: Module, annotation: Node | None, subject: Object) -> None:
        """Note what an annotation says of an object."""

    @abstractmethod
    def begin(self, line: int, column: int, end: int) -> bool:
        """Begin a captured region at the present frame; False when one is open already."""

    @abstractmethod
    def end(self) -> None:
        """The captured region ends."""

    # -- small questions ----------------------------------------------------------------------------

    def condition(self, span: tuple[int, int, int, int], negated: bool = False) -> Condition:
        """A test of the present function, to be quoted later."""
        return Condition(self.frame.func.module.name, span, negated)

    def truth(self, value: Value) -> bool | None:
        """Whether a value is true, when that is known."""
        if isinstance(value, Const):
            return bool(value.value)
        if isinstance(value, (Func, ClassRef)):
            return True
        if type(value) is Object and value.cls is not None and not value.before:
            return True
        if type(value) is Object and value.kind and value.keys is not None:
            return bool(value.keys)
        return None

    def fresh(self, name: str, made_by: str = "") -> Object:
        """An object that is made now."""
        return Object(name, False, made_by=made_by)
