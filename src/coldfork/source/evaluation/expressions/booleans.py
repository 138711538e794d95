"""`and` and `or`: a later operand is evaluated only if the earlier ones do not decide the outcome."""

from __future__ import annotations

from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.flow.truth_tests import both_ways, known_outcome, test_of, tested
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition, all_of, any_of, negated, presumptions
from coldfork.source.values.kinds import FALSE, TRUTHY, UNKNOWN, External, Unknown, Value
from coldfork.source.values.unions import alternatives, joined, needing, truth

_LONGEST_CHAIN = 40
Alternatives = list[tuple[Value, Condition | None]]


def boolean(ev: Interpreter, frame: Frame, node: Node, off: bool = False) -> Value:
    """Return the value of `and` or `or`; an operand is evaluated only if no earlier one decides.

    If the expression is evaluated only `off` the nominal path, each operand states the condition for its
    outcome.
    """
    _, is_and, values, line, spans = node
    if len(values) > _LONGEST_CHAIN:
        values = (*values[: _LONGEST_CHAIN - 1], (nodes.OTHER, values[_LONGEST_CHAIN - 1 :]))
    value = ev.evaluate(frame, values[0])
    if off:
        value = _told_apart(ev, frame, value, values[0], spans[0])
    if len(values) == 1:
        return value
    outcome = test_of(tested(ev, frame, value))
    goes_on = outcome if is_and else outcome.inverted()
    rest = (nodes.BOOL, is_and, values[1:], line, spans[1:])
    if goes_on.nominal is True and goes_on.when_false is None:
        return boolean(ev, frame, rest, off)
    if goes_on.nominal is False and goes_on.when_true is None:
        return value
    collected: list[Value] = []
    off = off or goes_on.nominal is False

    def follow() -> int:
        collected.append(boolean(ev, frame, rest, off))
        return FALLS

    branches = Branches(ev, frame)
    if goes_on.nominal is True:
        branches.follow(follow, None, True, presumptions(goes_on.when_false))
        branches.pass_by(goes_on.when_false, False)
        branches.join()
        ended = _cut_short(value, is_and)
        if not collected:
            return joined([(UNKNOWN, None), *ended])
        needed = _going_on(_told_apart(ev, frame, value, values[0], spans[0]), is_and)
        return joined([*_needing_it(collected[0], is_and, needed), *ended])
    nominal = goes_on.nominal is None
    asked = both_ways(ev, frame, values[0], spans[0]) if nominal else {}
    if (known := known_outcome(frame, asked)) is not None:
        return boolean(ev, frame, rest, off) if known is is_and else FALSE if is_and else TRUTHY
    condition = asked[is_and] if nominal else goes_on.when_true
    branches.follow(follow, condition, nominal)
    branches.pass_by(None, True, presumes=() if nominal else presumptions(goes_on.when_true))
    branches.join()
    ended = _cut_short(value, is_and)
    if not nominal:
        return joined([*ended, *[(c, goes_on.when_true) for c in collected]])
    return joined([*[(needing(c, condition), None) for c in collected], *ended])


def _told_apart(ev: Interpreter, frame: Frame, value: Value, node: Node, span: nodes.Span) -> Value:
    """Return an operand of unknown outcome as two alternatives: true under one condition, false under
    another.

    Off the nominal path, the usual value of the operand requires that no condition for another value holds.
    """
    options = alternatives(value)
    others = [condition for _, condition in options if condition is not None]
    # An operand is mixed if its nominal alternatives have both outcomes.
    mixed = len({truth(single) for single, condition in options if condition is None}) > 1
    unknown = mixed or any(truth(single) is None for single, _ in options)
    if not unknown and not others:
        return value
    asked = both_ways(ev, frame, node, span) if unknown else {}
    unusual = any_of(*others) if others else None
    usual = negated(unusual) if unusual is not None else None
    found: Alternatives = []
    for single, condition in options:
        outcome = truth(single)
        if outcome is not None:
            found.append((single, condition or (asked[outcome] if mixed else usual)))
        else:
            kept = isinstance(single, External) and single.name.partition(".")[0] in ev.known_libraries
            found.append((single if kept else TRUTHY, all_of(condition, asked[True])))
            found.append((FALSE, all_of(condition, asked[False])))
    return joined(found)


def _going_on(told: Value, is_and: bool) -> Condition | None:
    """Return the condition under which `and` or `or` continues with the next operand after this one."""
    needed = [condition for single, condition in alternatives(told) if (truth(single) is not False) is is_and]
    return any_of(*[one for one in needed if one is not None]) if None not in needed else None


def _needing_it(value: Value, is_and: bool, needed: Condition | None) -> Alternatives:
    """Return the alternatives of the operands after this one, with the condition for reaching them if they
    need it.

    Alternatives with the outcome that ends the expression anyway do not need the condition.
    """
    found: Alternatives = []
    for single, condition in alternatives(value):
        ends = condition is None or truth(single) is (not is_and)
        found.append((single, condition if ends else all_of(condition, needed)))
    return found


def _cut_short(value: Value, is_and: bool) -> Alternatives:
    """Return the values with which `and` or `or` ends at this operand: its false ones, or its true ones."""
    ended: Alternatives = []
    for single, condition in alternatives(value):
        outcome = truth(single)
        if outcome is None:
            single = FALSE if is_and else TRUTHY if isinstance(single, Unknown) else single
        elif outcome is is_and:
            continue
        ended.append((single, condition))
    return ended
