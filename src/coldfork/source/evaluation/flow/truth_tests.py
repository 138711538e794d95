"""Conditions: three-valued tests, and which exceptions a handler is for."""

from __future__ import annotations

import builtins

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Instance, Value
from coldfork.source.values.unions import alternatives, truth

Span = tuple[int, int, int, int]
#: Exceptions that mean to leave the program: `except Exception` lets them through.
_LEAVING = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})


class Test:
    """The outcome of a test: nominally true, false or unknown, and what could turn it round."""

    __slots__ = ("nominal", "when_false", "when_true")

    def __init__(
        self, nominal: bool | None, when_true: Condition | None, when_false: Condition | None
    ) -> None:
        self.nominal = nominal
        self.when_true = when_true
        """Off the nominal path: the condition under which the test is true all the same."""
        self.when_false = when_false
        """Off the nominal path: the condition under which the test is false all the same."""

    def inverted(self) -> Test:
        """The outcome of `not test`."""
        return Test(None if self.nominal is None else not self.nominal, self.when_false, self.when_true)


def test_of(value: Value) -> Test:
    """The outcome of testing a value."""
    nominal: set[bool | None] = set()
    off: dict[bool, Condition] = {}
    for alternative, condition in alternatives(value):
        outcome = truth(alternative)
        if condition is None:
            nominal.add(outcome)
        elif outcome is None:
            off.setdefault(True, condition)
            off.setdefault(False, condition)
        else:
            off.setdefault(outcome, condition)
    settled = nominal.pop() if len(nominal) == 1 else None
    if settled is None:
        return Test(None, None, None)
    return Test(settled, None if settled else off.get(True), off.get(False) if settled else None)


def tested(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """What testing a value runs and yields: its `__bool__`, else its `__len__`."""
    if type(value) is not Instance or value.open:
        return value
    for name in ("__bool__", "__len__"):
        held = ev.member(value.cls, name)
        if held is not None and isinstance(held[1], ClassRef):
            return ev.call(frame, ev.attribute(frame, value, name))
    return value


def quoted(frame_module: Module, span: Span, negated: bool) -> Condition:
    """The condition that the test written at `span` holds, or does not."""
    return Condition(module=frame_module.name, span=span, negated=negated)


def handles(kinds: Node | None, raised: str) -> bool:
    """Whether an `except` clause catches an exception of this name, told by the built-in hierarchy."""
    if kinds is None:
        return True
    names = _exception_names(kinds)
    if not names or raised in names or "BaseException" in names:
        return True
    if "Exception" in names:
        return raised not in _LEAVING
    known = getattr(builtins, raised, None)
    if not isinstance(known, type):
        # One of a library's own: clauses that name a library's exceptions are taken to mean it.
        return any(not isinstance(getattr(builtins, name, None), type) for name in names)
    caught = [getattr(builtins, name, None) for name in names]
    return any(isinstance(one, type) and issubclass(known, one) for one in caught)


def _exception_names(node: Node) -> set[str]:
    if node[0] == nodes.SEQUENCE:
        return {name for element in node[2] for name in _exception_names(element)}
    if node[0] == nodes.NAME:
        return {node[1]}
    if node[0] == nodes.ATTR:
        return {node[2]}
    return set()
