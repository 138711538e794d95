"""Tests: whether they are true, false or unknown, the conditions for the opposite outcome, and the
consequences.
"""

from __future__ import annotations

from coldfork.source.evaluation.flow.meanings import meaning
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.walk import children
from coldfork.source.values.conditions import Condition, any_of, contradiction, negated
from coldfork.source.values.kinds import FALSE, TRUE, UNKNOWN, ClassRef, Instance, Union, Value
from coldfork.source.values.unions import alternatives, truth

Span = tuple[int, int, int, int]


class Test:
    """The nominal outcome of a test (true, false or unknown), and the conditions under which it differs."""

    __slots__ = ("nominal", "when_false", "when_true")

    def __init__(
        self, nominal: bool | None, when_true: Condition | None, when_false: Condition | None
    ) -> None:
        self.nominal: bool | None = nominal
        self.when_true: Condition | None = when_true
        """The condition, off the nominal path, under which the test is true although it is nominally not."""
        self.when_false: Condition | None = when_false
        """The condition, off the nominal path, under which the test is false although it is nominally not."""

    def inverted(self) -> Test:
        """Return the opposite outcome of a test."""
        return Test(None if self.nominal is None else not self.nominal, self.when_false, self.when_true)


_PLAIN: dict[bool | None, Test] = {outcome: Test(outcome, None, None) for outcome in (True, False, None)}


def test_of(value: Value) -> Test:
    """Return the outcome of testing a value."""
    if type(value) is not Union:
        return _PLAIN[truth(value)]
    nominal: set[bool | None] = set()
    off: dict[bool, list[Condition]] = {True: [], False: []}
    for alternative, condition in value.alternatives:
        outcome = truth(alternative)
        if condition is None:
            nominal.add(outcome)
        else:
            for possible in (True, False) if outcome is None else (outcome,):
                off[possible].append(condition)
    settled = nominal.pop() if len(nominal) == 1 else None
    if settled is None:
        return _PLAIN[None]
    if not off[not settled]:
        return _PLAIN[settled]
    other = any_of(*off[not settled])
    if other is None:
        return _PLAIN[None]
    return Test(settled, None if settled else other, other if settled else None)


def opposite(value: Value) -> Value:
    """Return the value of `not` applied to a value."""
    outcome = test_of(value)
    if outcome.nominal is None:
        return UNKNOWN
    nominal = FALSE if outcome.nominal else TRUE
    other = outcome.when_false if outcome.nominal else outcome.when_true
    if other is None:
        return nominal
    return Union(((nominal, None), (TRUE if outcome.nominal else FALSE, other)))


def tested(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """Return the value that decides a test: the result of `__bool__` or `__len__`, or the value itself."""
    if type(value) is not Instance or value.open:
        return value
    for name in ("__bool__", "__len__"):
        held = ev.member(value.cls, name)
        if held is not None and isinstance(held.holder, ClassRef):
            return ev.call(frame, ev.attribute(frame, value, name))
    return value


def quoted(ev: Interpreter, frame: Frame, node: Node, span: Span, denied: bool) -> Condition:
    """Return the condition that a test, written at `span`, holds; if `denied`, that it does not hold."""
    return Condition(frame.module.name, span, denied, means=meaning(ev, frame, node))


def both_ways(ev: Interpreter, frame: Frame, node: Node, span: Span) -> dict[bool, Condition]:
    """Return the condition that a test holds, and the condition that it does not hold."""
    holds = quoted(ev, frame, node, span, False)
    return {True: holds, False: negated(holds)}


def known_outcome(frame: Frame, asked: dict[bool, Condition]) -> bool | None:
    """Return the outcome of a test if earlier tests on this path decide it; None if both outcomes are
    possible.
    """
    if not frame.conditions or not asked or asked[True].means is None:
        return None
    if contradiction((*frame.conditions, asked[False])):
        return True
    return False if contradiction((*frame.conditions, asked[True])) else None


def narrowing_test(
    ev: Interpreter, frame: Frame, node: Node
) -> tuple[Test, dict[str, Value], dict[str, Value]]:
    """Return the outcome of a test, and the values that a variable has if the test holds and if
    it does not.
    """
    outcome = test_of(tested(ev, frame, ev.evaluate(frame, node)))
    name = _union_variable(frame, node) if outcome.nominal is None else None
    if name is None:
        return outcome, {}, {}
    assert frame.env is not None
    value = frame.env.names[name]
    holds: list[tuple[Value, Condition | None]] = []
    fails: list[tuple[Value, Condition | None]] = []
    quiet = Frame(frame.module, frame.env, frame.function)
    quiet.quiet = True
    outer = frame.env.names
    for option, condition in alternatives(value):
        frame.env.names = {**outer, name: option}
        try:
            held = test_of(ev.evaluate(quiet, node)).nominal
        except Raised:
            held = None
        if held is not False:
            holds.append((option, condition))
        if held is not True:
            fails.append((option, condition))
    frame.env.names = outer
    return outcome, _narrowed(name, holds), _narrowed(name, fails)


def _narrowed(name: str, options: list[tuple[Value, Condition | None]]) -> dict[str, Value]:
    if not options:
        return {}
    match options:
        case [(value, None)]:
            return {name: value}
    return {name: Union(tuple(options))}


def _union_variable(frame: Frame, node: Node) -> str | None:
    """Return the local variable that a test examines, if it may have one of several values."""
    if frame.env is None or frame.toplevel:
        return None
    pending = [node]
    while pending:
        current = pending.pop()
        if current[0] == nodes.NAME:
            name: str
            _, name, _ = current
            if type(frame.env.names.get(name)) is Union:
                return name
        elif current[0] in (nodes.COMPARE, nodes.NOT, nodes.BOOL):
            pending += children(current)
    return None
