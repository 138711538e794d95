"""Evaluate expressions to abstract values, noting what evaluating them runs."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.evaluation.expressions.comprehensions import comprehension
from coldfork.source.evaluation.expressions.operators import binary, compare, unary
from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.flow.truth_tests import both_ways, known_outcome, test_of, tested
from coldfork.source.evaluation.frame import PAUSED, Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, defining_env
from coldfork.source.evaluation.objects.names import name_value
from coldfork.source.evaluation.objects.protocols import awaited, iterate
from coldfork.source.semantics.constants import LONGEST
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, code_of
from coldfork.source.syntax.walk import children
from coldfork.source.values.conditions import Condition, presumptions
from coldfork.source.values.kinds import (
    FALSE,
    NONE,
    REST,
    TRUE,
    TRUTHY,
    UNKNOWN,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Union,
    Unknown,
    Value,
)
from coldfork.source.values.texts import ending
from coldfork.source.values.unions import alternatives, joined, needing, truth

_LONGEST_CHAIN = 40


def _const(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, value = node
    return Const(value)


def _name(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, name, line = node
    value = name_value(ev, frame, name)
    if frame.module.lazy and name in frame.module.lazy:
        if not frame.quiet:
            frame.line = line
            frame.end_line = max(frame.end_line, line)
        return ev.read_lazily(frame, value)
    return value


def _attr(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, owner, name, line = node
    value = ev.evaluate(frame, owner)
    if not frame.quiet:
        frame.line = line
        if frame.end_line < line:
            frame.end_line = line
    return ev.attribute(frame, value, name)


def _call(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, function, positional, keywords, line, column, end_line = node
    callee = ev.evaluate(frame, function)
    given: list[Value] = []
    for argument in positional:
        if argument[0] == nodes.STAR:
            _, starred = argument
            items, exact = iterate(ev, frame, ev.evaluate(frame, starred))
            given.extend(items if exact else (*items, REST if argument is positional[-1] else UNKNOWN))
        else:
            given.append(ev.evaluate(frame, argument))
    named: dict[str | None, Value] = {}
    for name, value in keywords:
        evaluated = ev.evaluate(frame, value)
        if name is None and isinstance(evaluated, Mapping):
            for key, item in evaluated.items.items():
                if isinstance(key, Const):
                    named[str(key.value)] = item
            if not evaluated.exact:
                named[None] = UNKNOWN
        else:
            named[name] = evaluated
    frame.line, frame.column = line, column
    if frame.end_line < end_line or frame.end_line > end_line + 400:
        frame.end_line = end_line
    return ev.call(frame, callee, tuple(given), named)


def _ifexp(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, test, body, orelse, _, span = node
    outcome = test_of(tested(ev, frame, ev.evaluate(frame, test)))
    if outcome.nominal is True and outcome.when_false is None:
        return ev.evaluate(frame, body)
    if outcome.nominal is False and outcome.when_true is None:
        return ev.evaluate(frame, orelse)
    results: list[tuple[Value, Condition | None]] = []
    branches = Branches(ev, frame)

    def follow(part: Node, off: Condition | None, condition: Condition | None) -> Callable[[], int]:
        def work() -> int:
            results.append((needing(ev.evaluate(frame, part), condition), off))
            return FALLS

        return work

    unknown = outcome.nominal is None
    asked = both_ways(ev, frame, test, span) if unknown else {}
    if (known := known_outcome(frame, asked)) is not None:
        return ev.evaluate(frame, body if known else orelse)
    for part, wanted, off in ((body, True, outcome.when_true), (orelse, False, outcome.when_false)):
        nominal = unknown or outcome.nominal is wanted
        condition = asked[wanted] if unknown else None if nominal else off
        other = outcome.when_false if wanted else outcome.when_true
        branches.follow(
            follow(part, None if nominal else off, condition),
            condition,
            nominal,
            presumptions(other) if nominal else (),
        )
    branches.join()
    return joined(results)


def _bool(ev: Interpreter, frame: Frame, node: Node, off: bool = False) -> Value:
    """`and` and `or`: later operands are evaluated only as far as the earlier ones let them.

    An operand that is only evaluated `off` the nominal path says what its outcome needs.
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
        return _bool(ev, frame, rest, off)
    if goes_on.nominal is False and goes_on.when_true is None:
        return value
    collected: list[Value] = []
    off = off or goes_on.nominal is False

    def follow() -> int:
        collected.append(_bool(ev, frame, rest, off))
        return FALLS

    branches = Branches(ev, frame)
    if goes_on.nominal is True:
        branches.follow(follow, None, True, presumptions(goes_on.when_false))
        branches.pass_by(goes_on.when_false, False)
        branches.join()
        ended = _cut_short(value, is_and)
        return joined([(collected[0] if collected else UNKNOWN, None), *ended])
    nominal = goes_on.nominal is None
    asked = both_ways(ev, frame, values[0], spans[0]) if nominal else {}
    if (known := known_outcome(frame, asked)) is not None:
        return _bool(ev, frame, rest, off) if known is is_and else FALSE if is_and else TRUTHY
    condition = asked[is_and] if nominal else goes_on.when_true
    branches.follow(follow, condition, nominal)
    branches.pass_by(None, True, presumes=() if nominal else presumptions(goes_on.when_true))
    branches.join()
    ended = _cut_short(value, is_and)
    if not nominal:
        return joined([*ended, *[(c, goes_on.when_true) for c in collected]])
    return joined([*[(needing(c, condition), None) for c in collected], *ended])


def _told_apart(ev: Interpreter, frame: Frame, value: Value, node: Node, span: nodes.Span) -> Value:
    """An operand of unknown outcome, as one that is true under one condition and false under another."""
    if not any(condition is None and truth(single) is None for single, condition in alternatives(value)):
        return value
    asked = both_ways(ev, frame, node, span)
    found: list[tuple[Value, Condition | None]] = []
    for single, condition in alternatives(value):
        if condition is not None or truth(single) is not None:
            found.append((single, condition))
        else:
            kept = isinstance(single, External) and single.name.partition(".")[0] in ev.known_libraries
            found.append((single if kept else TRUTHY, asked[True]))
            found.append((FALSE, asked[False]))
    return joined(found)


def _cut_short(value: Value, is_and: bool) -> list[tuple[Value, Condition | None]]:
    """What `and` and `or` yield where they end at an operand: something false, and something true."""
    ended: list[tuple[Value, Condition | None]] = []
    for single, condition in alternatives(value):
        outcome = truth(single)
        if outcome is None:
            single = FALSE if is_and else TRUTHY if isinstance(single, Unknown) else single
        elif outcome is is_and:
            continue
        ended.append((single, condition))
    return ended


def _not(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, operand = node
    outcome = test_of(tested(ev, frame, ev.evaluate(frame, operand)))
    if outcome.nominal is None:
        return UNKNOWN
    nominal = FALSE if outcome.nominal else TRUE
    other = outcome.when_false if outcome.nominal else outcome.when_true
    if other is None:
        return nominal
    return Union(((nominal, None), (TRUE if outcome.nominal else FALSE, other)))


def _sequence(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, kind, elements = node
    items: list[Value] = []
    exact, filled = True, False
    for element in elements:
        if element[0] == nodes.STAR:
            _, starred = element
            held = ev.evaluate(frame, starred)
            more, complete = iterate(ev, frame, held)
            items.extend(more)
            exact = exact and complete
            filled = filled or truth(held) is True or bool(complete and more)
        else:
            items.append(ev.evaluate(frame, element))
            filled = True
    if kind == "tuple" and exact and items and all(isinstance(item, Const) for item in items):
        return Const(tuple(item.value for item in items))  # type: ignore[attr-defined]
    return Sequence(kind, tuple(items), exact, not filled)


def _dict(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, keys, values = node
    items: dict[Value, Value] = {}
    exact, filled = True, False
    for key, value in zip(keys, values, strict=True):
        held = ev.evaluate(frame, value)
        if key is None:
            if isinstance(held, Mapping):
                items.update(held.items)
                exact = exact and held.exact
                filled = filled or truth(held) is True
            else:
                exact = False
        else:
            items[ev.evaluate(frame, key)] = held
            filled = True
    return Mapping(items, exact, not filled)


def _index(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, owner, index, _ = node
    container = ev.evaluate(frame, owner)
    key = ev.evaluate(frame, index)
    return ev.item(frame, container, key)


def _lambda(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, raw = node
    for default in children(node):
        ev.evaluate(frame, default)
    code = ev.definitions.code_for(raw, code_of)
    env = defining_env(frame) if frame.toplevel else frame.env
    return Function(frame.module, code.line, code.name, code, env, None)


def _walrus(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, name, expression = node
    value = ev.evaluate(frame, expression)
    if frame.env is not None:
        bind_name(ev, frame, name, value)
    return value


def _has(ev: Interpreter, value: Instance, name: str) -> bool:
    """Whether the code of a class says what `name` does, `object`'s own apart."""
    held = ev.member(value.cls, name)
    return held is not None and isinstance(held.holder, ClassRef)


def _joined(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, expressions, methods = node
    parts = [ev.evaluate(frame, part) for part in expressions]
    for part in parts:
        if isinstance(part, Instance):
            method = next((name for name in methods if _has(ev, part, name)), "__repr__")
            ev.call(frame, ev.attribute(frame, part, method))
    if all(isinstance(part, Const) for part in parts):
        text = "".join(str(part.value) for part in parts if isinstance(part, Const))
        return Const(text) if len(text) <= LONGEST else UNKNOWN
    return ending(tuple(parts)) or UNKNOWN


def _yield(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, expression, is_from, _ = node
    if expression is None:
        frame.yields.append(NONE)
        return UNKNOWN
    value = ev.evaluate(frame, expression)
    if is_from:
        items, exact = iterate(ev, frame, value)
        frame.yields.extend(items if exact else (*items, UNKNOWN))
        return UNKNOWN
    frame.yields.append(value)
    if ev.strangers is not None:
        ev.strangers.met(value)
    if frame.first_yield_only and not frame.conditions:
        raise Raised(PAUSED)
    return UNKNOWN


def _await(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, expression, line = node
    value = ev.evaluate(frame, expression)
    frame.line = line
    return awaited(ev, frame, value)


def _star(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, value = node
    return ev.evaluate(frame, value)


def _others(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, parts = node
    for part in parts:
        ev.evaluate(frame, part)
    return UNKNOWN


EVALUATE: dict[int, Callable[[Interpreter, Frame, Node], Value]] = {
    nodes.CONST: _const,
    nodes.NAME: _name,
    nodes.ATTR: _attr,
    nodes.CALL: _call,
    nodes.IFEXP: _ifexp,
    nodes.BOOL: _bool,
    nodes.NOT: _not,
    nodes.COMPARE: compare,
    nodes.SEQUENCE: _sequence,
    nodes.DICT: _dict,
    nodes.INDEX: _index,
    nodes.LAMBDA: _lambda,
    nodes.COMPREHENSION: comprehension,
    nodes.BINARY: binary,
    nodes.WALRUS: _walrus,
    nodes.JOINED: _joined,
    nodes.YIELD: _yield,
    nodes.AWAIT: _await,
    nodes.STAR: _star,
    nodes.SLICE: _others,
    nodes.OTHER: _others,
    nodes.UNARY: unary,
}
