"""Conditions: three-valued tests, guards around bindings, and what inside a `try` may fail."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from coldfork.source import ir
from coldfork.source.ir import Node
from coldfork.source.program import ModuleState
from coldfork.source.unions import alternatives, truth
from coldfork.source.values import ClassRef, Condition, Env, Instance, Value
from coldfork.source.wakes import Failure, Frame, Raised

if TYPE_CHECKING:
    from coldfork.source.evaluator import Evaluator

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


def tested(ev: Evaluator, frame: Frame, value: Value) -> Value:
    """What testing a value runs and yields: its `__bool__`, else its `__len__`."""
    if type(value) is not Instance or value.open:
        return value
    for name in ("__bool__", "__len__"):
        held = ev.member(value.cls, name)
        if held is not None and isinstance(held[1], ClassRef):
            return ev.call(frame, ev.attribute(frame, value, name))
    return value


def quoted(frame_module: ModuleState, span: Span, negated: bool) -> Condition:
    """The condition that the test written at `span` holds, or does not."""
    return Condition(module=frame_module.name, span=span, negated=negated)


def guards_hold(
    ev: Evaluator, module: ModuleState, env: Env | None, guards: tuple[Node, ...]
) -> tuple[bool | None, Condition | None]:
    """Whether a binding under `guards` happens: yes, no, maybe; and the condition that makes a no a maybe."""
    outcome: bool | None = True
    off: Condition | None = None
    for guard in guards:
        if guard[0] == ir.WHEN:
            test = test_of(ev.quietly(module, env, guard[1]))
            if not guard[2]:
                test = test.inverted()
            holds, condition = test.nominal, test.when_true
        else:
            holds, condition = _failure_reached(ev, module, env, guard)
        if holds is False:
            if condition is None:
                return False, None
            outcome, off = False, off or condition
        elif holds is None and outcome is True:
            outcome = None
    if off is not None:
        return False, off
    return outcome, None


def _failure_reached(
    ev: Evaluator, module: ModuleState, env: Env | None, guard: Node
) -> tuple[bool | None, Condition | None]:
    """Whether the handler of a `try` runs, told by what its block may fail at."""
    _, block, kinds, line = guard
    raised, failures = try_quietly(ev, module, env, block)
    if raised is not None:
        return (True, None) if handles(kinds, raised) else (False, None)
    for condition, even, kind in failures:
        if handles(kinds, kind):
            return (None, None) if even else (False, condition)
    return False, Condition(words=f"the `try` above line {line} of {module.name} fails")


def try_quietly(
    ev: Evaluator, module: ModuleState, env: Env | None, block: ir.Block
) -> tuple[str | None, list[Failure]]:
    """Run the block of a `try` for its failures alone."""
    frame = Frame(module, Env(env))
    frame.quiet = True
    ev.failing.append([])
    mark = ev.journal.mark()
    try:
        ev.execute(frame, block)
        return None, ev.failing[-1]
    except Raised as raised:
        return raised.kind, ev.failing[-1]
    finally:
        ev.failing.pop()
        ev.journal.forget(mark)


def handles(kinds: Node | None, raised: str) -> bool:
    """Whether an `except` clause catches an exception of this name, told by the built-in hierarchy."""
    if kinds is None:
        return True
    names = _exception_names(kinds)
    if not names or raised in names or names & {"Exception", "BaseException"}:
        return True
    known = getattr(builtins, raised, None)
    if not isinstance(known, type):
        # One of a library's own: clauses that name a library's exceptions are taken to mean it.
        return any(not isinstance(getattr(builtins, name, None), type) for name in names)
    caught = [getattr(builtins, name, None) for name in names]
    return any(isinstance(one, type) and issubclass(known, one) for one in caught)


def _exception_names(node: Node) -> set[str]:
    if node[0] == ir.SEQUENCE:
        return {name for element in node[2] for name in _exception_names(element)}
    if node[0] == ir.NAME:
        return {node[1]}
    if node[0] == ir.ATTR:
        return {node[2]}
    return set()
