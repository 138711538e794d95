"""Loops: over what is known item by item, else once, and perhaps not at all."""

from __future__ import annotations

from coldfork.source.evaluation.flow.branches import BREAKS, FALLS, RETURNS, Branches
from coldfork.source.evaluation.flow.narrowing import narrowing_test
from coldfork.source.evaluation.flow.truth_tests import quoted
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import assign
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.syntax.nodes import Node, last_line
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import UNKNOWN, Sequence
from coldfork.source.values.unions import union


def for_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """A `for` loop: each item if all are known, else one that stands for any."""
    _, line, target, iterable, body, orelse = node
    frame.at(line, line)
    value = ev.evaluate(frame, iterable)
    items, exact = iterate(ev, frame, value)
    before = frame.conditions
    if not exact:
        frame.partial = True
    if type(value) is Sequence and not exact and not value.doubtful:
        items, exact = (union(items),), True
    if not exact:
        words = f"the loop at line {line} of {frame.module.name} runs"
        branches = Branches(ev, frame)

        def around() -> int:
            assign(ev, frame, target, union(items) if items else UNKNOWN)
            return ev.execute(frame, body)

        branches.follow(around, Condition(words=words), True)
        branches.follow(lambda: FALLS, None, True)
        ended = branches.join()
        if ended == RETURNS:
            return RETURNS
        frame.conditions = before
    else:
        for item in items:
            assign(ev, frame, target, item)
            ended = ev.execute(frame, body)
            if ended == BREAKS:
                return FALLS
            if ended == RETURNS:
                return RETURNS
        if items and frame.conditions != before and not frame.returns:
            frame.conditions = before
    return ev.execute(frame, orelse)


def while_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """A `while` loop: its body is followed once."""
    _, line, test, body, orelse, span = node
    frame.at(line, last_line(span))
    outcome, holding, _failing = narrowing_test(ev, frame, test)
    if outcome.nominal is False and outcome.when_true is None:
        return ev.execute(frame, orelse)
    before = frame.conditions
    if outcome.nominal is True:
        ended = ev.execute(frame, body)
        if ended == RETURNS:
            return RETURNS
        frame.conditions = before
        return FALLS
    branches = Branches(ev, frame)
    branches.follow(lambda: ev.execute(frame, body), quoted(frame.module, span, False), True, "", holding)
    branches.follow(lambda: FALLS, None, True)
    branches.join()
    frame.conditions = before
    return FALLS
