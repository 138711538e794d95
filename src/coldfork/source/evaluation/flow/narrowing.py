"""What a test says about the variable it asks about."""

from __future__ import annotations

from coldfork.source.evaluation.flow.truth_tests import Test, test_of, tested
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.walk import children
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Union, Value
from coldfork.source.values.unions import alternatives


def narrowing_test(
    ev: Interpreter, frame: Frame, node: Node
) -> tuple[Test, dict[str, Value], dict[str, Value]]:
    """The outcome of a test, and what it says about a variable where it holds and where it does not."""
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
    """A local variable in a test that may be one of several values."""
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
