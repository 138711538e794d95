"""Tests with three outcomes: true, false, or nobody knows, and what could turn them round."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import FALSE, TRUE, UNKNOWN, ClassRef, Instance, Union, Value
from coldfork.source.values.unions import truth

Span = tuple[int, int, int, int]


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


_PLAIN: dict[bool | None, Test] = {outcome: Test(outcome, None, None) for outcome in (True, False, None)}


def test_of(value: Value) -> Test:
    """The outcome of testing a value."""
    if type(value) is not Union:
        return _PLAIN[truth(value)]
    nominal: set[bool | None] = set()
    off: dict[bool, Condition] = {}
    for alternative, condition in value.alternatives:
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
        return _PLAIN[None]
    return Test(settled, None if settled else off.get(True), off.get(False) if settled else None)


def opposite(value: Value) -> Value:
    """What `not value` is."""
    outcome = test_of(value)
    if outcome.nominal is None:
        return UNKNOWN
    nominal = FALSE if outcome.nominal else TRUE
    other = outcome.when_false if outcome.nominal else outcome.when_true
    if other is None:
        return nominal
    return Union(((nominal, None), (TRUE if outcome.nominal else FALSE, other)))


def tested(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """What testing a value runs and yields: its `__bool__`, else its `__len__`."""
    if type(value) is not Instance or value.open:
        return value
    for name in ("__bool__", "__len__"):
        held = ev.member(value.cls, name)
        if held is not None and isinstance(held.holder, ClassRef):
            return ev.call(frame, ev.attribute(frame, value, name))
    return value


def quoted(frame_module: Module, span: Span, negated: bool) -> Condition:
    """The condition that the test written at `span` holds, or does not."""
    return Condition(module=frame_module.name, span=span, negated=negated)
