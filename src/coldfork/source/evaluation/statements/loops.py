"""Loops: known items are followed one by one; otherwise one round is followed that may not run at all."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.evaluation.flow.branches import BREAKS, FALLS, RETURNS, Branches
from coldfork.source.evaluation.flow.truth_tests import narrowing_test, quoted
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, cut_short
from coldfork.source.evaluation.journal import Mark
from coldfork.source.evaluation.objects.assignment import assign
from coldfork.source.evaluation.objects.mutation import forget_since
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.syntax.nodes import Block, Node, last_line
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import UNKNOWN, Sequence, Value
from coldfork.source.values.unions import union

_MOST_ROUNDS = 64
"""At most this many rounds of a `while` loop are followed one by one."""
_MOST_REPEATED = 4
"""A representative round is followed at most this often, until it changes nothing more."""


def for_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run a `for` loop: follow each item if all are known, else one item that represents them."""
    return _for(ev, frame, node) if ev.presumes else _loop(ev, frame, lambda: _for(ev, frame, node))


def while_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run a `while` loop: its body is followed once, or round by round if results must be certain."""
    return _while(ev, frame, node) if ev.presumes else _loop(ev, frame, lambda: _rounds(ev, frame, node))


def _loop(ev: Interpreter, frame: Frame, follow: Callable[[], int]) -> int:
    """Follow a loop; each `break` adds possible values for after the loop, and limits which wakes are
    certain.
    """
    outer, frame.left_with = frame.left_with, []
    before = frame.conditions
    try:
        ended = follow()
        for names, must in frame.left_with:
            frame.must &= must
            if frame.env is None:
                continue
            for name, value in names.items():
                known = frame.env.names.get(name)
                if known is not None and known is not value:
                    frame.env.names[name] = union([known, value])
        frame.conditions = (*before, *[one for one in frame.stays if one not in before])
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
    filled = type(value) is Sequence and not value.doubtful
    if not exact and not ev.presumes:
        ended = _any_rounds(ev, frame, node, union(items) if items else UNKNOWN, filled)
        return ev.execute(frame, orelse) if ended == FALLS else FALLS if ended == BREAKS else ended
    if not exact and filled:
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
            last = ev.budget.spent and index + 1 < len(items)  # one more round represents all remaining items
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


def _any_rounds(ev: Interpreter, frame: Frame, node: Node, item: Value, filled: bool) -> int:
    """Run a loop over an unknown number of items: its first round, and one that represents all others.

    A round's changes may have been made any number of times, and each round may be the last.
    """
    _, _, target, _, body, _ = node

    def around() -> int:
        assign(ev, frame, target, item)
        return _round(ev, frame, body)

    changed = True
    for number in range(_MOST_REPEATED):
        names = dict(frame.env.names) if frame.env is not None else {}
        mark = ev.journal.mark()
        if filled and not number:
            ended = around()
            if ended in (BREAKS, RETURNS):
                return ended
        else:
            branches = Branches(ev, frame)
            branches.follow(around, Condition(words="the loop runs again"), True)
            branches.pass_by(None, True)
            branches.join()
        changed = _forget_changed(ev, frame, names, mark)
        if number and not changed:
            break
    if changed:
        frame.doubt("the loop ends")
    return FALLS


def _forget_changed(ev: Interpreter, frame: Frame, before: dict[str, Value], mark: Mark) -> bool:
    """Forget the values that a loop has changed; return whether any of them was known."""
    changed = forget_since(ev.journal, mark)
    if frame.env is not None:
        for name, value in frame.env.names.items():
            if value is not UNKNOWN and before.get(name, value) is not value and before[name] != value:
                frame.env.names[name] = UNKNOWN
                changed = True
    return changed


def _rounds(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run a `while` loop round by round, as long as the outcome of its test is known."""
    _, line, test, body, orelse, span = node
    holding: dict[str, Value] = {}
    for _ in range(_MOST_ROUNDS):
        frame.at(line, last_line(span))
        outcome, holding, _failing = narrowing_test(ev, frame, test)
        if outcome.nominal is None or outcome.when_true is not None or outcome.when_false is not None:
            break
        if not outcome.nominal:
            return ev.execute(frame, orelse)
        ended = _round(ev, frame, body)
        if ended in (BREAKS, RETURNS):
            return FALLS if ended == BREAKS else RETURNS
        if ev.budget.spent:
            break
    branches = Branches(ev, frame)
    branches.follow(lambda: _round(ev, frame, body), quoted(ev, frame, test, span, False), True, (), holding)
    branches.pass_by(None, True)
    branches.join()
    frame.at(line, last_line(span))
    frame.doubt("the loop ends")
    return FALLS


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
    """Follow the body once; afterwards only those wakes are certain that are certain wherever the
    body ends.
    """
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
