"""Loops: over what is known item by item, else once, and perhaps not at all."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.evaluation.flow.branches import BREAKS, FALLS, RETURNS, Branches
from coldfork.source.evaluation.flow.truth_tests import narrowing_test, quoted
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, cut_short
from coldfork.source.evaluation.objects.assignment import assign
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.syntax.nodes import Block, Node, last_line
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import UNKNOWN, Sequence
from coldfork.source.values.unions import union


def for_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """A `for` loop: each item if all are known, else one that stands for any."""
    return _for(ev, frame, node) if ev.presumes else _loop(ev, frame, lambda: _for(ev, frame, node))


def while_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """A `while` loop: its body is followed once."""
    return _while(ev, frame, node) if ev.presumes else _loop(ev, frame, lambda: _while(ev, frame, node))


def _loop(ev: Interpreter, frame: Frame, follow: Callable[[], int]) -> int:
    """Follow a loop; behind it a variable may hold what it held at any `break`."""
    outer, frame.left_with = frame.left_with, []
    try:
        ended = follow()
        if frame.env is not None:
            for names in frame.left_with:
                for name, value in names.items():
                    known = frame.env.names.get(name)
                    if known is not None and known is not value:
                        frame.env.names[name] = union([known, value])
    finally:
        frame.left_with = outer
    return ended


def _for(ev: Interpreter, frame: Frame, node: Node) -> int:
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
        words = f"the loop at line {line} of {frame.module.plain} runs"
        branches = Branches(ev, frame)

        def around() -> int:
            assign(ev, frame, target, union(items) if items else UNKNOWN)
            return _round(ev, frame, body)

        branches.follow(around, Condition(words=words), True)
        branches.follow(lambda: FALLS, None, True)
        ended = branches.join()
        if ended == RETURNS:
            return RETURNS
        frame.conditions = before
    else:
        for index, item in enumerate(items):
            last = ev.budget.spent and index + 1 < len(items)  # one more round stands for all that are left
            assign(ev, frame, target, union(items[index:]) if last else item)
            ended = _round(ev, frame, body)
            if ended == BREAKS:
                return FALLS
            if ended == RETURNS:
                return RETURNS
            if last:
                cut_short(ev, frame, line)
                break
        if items and frame.conditions != before and not frame.returns:
            frame.conditions = before
    return ev.execute(frame, orelse)


def _while(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, test, body, orelse, span = node
    frame.at(line, last_line(span))
    outcome, holding, _failing = narrowing_test(ev, frame, test)
    if outcome.nominal is False and outcome.when_true is None:
        return ev.execute(frame, orelse)
    before = frame.conditions
    if outcome.nominal is True:
        ended = _round(ev, frame, body)
        if ended == RETURNS:
            return RETURNS
        frame.conditions = before
        return FALLS
    branches = Branches(ev, frame)
    branches.follow(lambda: _round(ev, frame, body), quoted(ev, frame, test, span, False), True, (), holding)
    branches.follow(lambda: FALLS, None, True)
    branches.join()
    frame.conditions = before
    return FALLS


def _round(ev: Interpreter, frame: Frame, body: Block) -> int:
    """Follow the body once: behind it only that is sure which was, wherever it is left."""
    if not body:
        ev.budget.left -= 1
    outer, frame.loop_musts = frame.loop_musts, []
    ev.budget.loops += 1
    try:
        ended = ev.execute(frame, body)
        if frame.loop_musts:
            frame.must.intersection_update(*frame.loop_musts)
    finally:
        ev.budget.loops -= 1
        frame.loop_musts = outer
    return ended
