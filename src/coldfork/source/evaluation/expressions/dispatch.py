"""Evaluates expressions to abstract values, recording the effects."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.evaluation.budget import FEW_ELEMENTS
from coldfork.source.evaluation.expressions.booleans import boolean
from coldfork.source.evaluation.expressions.comprehensions import comprehension
from coldfork.source.evaluation.expressions.operators import binary, compare, unary
from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.flow.truth_tests import both_ways, known_outcome, opposite, test_of, tested
from coldfork.source.evaluation.frame import PAUSED, Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, defining_env
from coldfork.source.evaluation.objects.names import name_value
from coldfork.source.evaluation.objects.protocols import awaited, iterate
from coldfork.source.semantics.constants import LARGEST, is_nested_too_large
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, code_of
from coldfork.source.syntax.walk import children
from coldfork.source.values.conditions import Condition, presumptions
from coldfork.source.values.kinds import (
    NONE,
    REST,
    UNKNOWN,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Mapping,
    Sequence,
    Value,
)
from coldfork.source.values.texts import joined_text
from coldfork.source.values.unions import each_text, joined, needing, truth


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
    named: Keywords = {}
    for name, value in keywords:
        evaluated = ev.evaluate(frame, value)
        if name is None and isinstance(evaluated, Mapping):
            ev.budget.charge(len(evaluated.items))
            for key, item in evaluated.items.items():
                if isinstance(key, Const):
                    named[str(key.value)] = item
            if not evaluated.exact:
                named[None] = UNKNOWN
        else:
            named[name] = evaluated
    if len(given) + len(named) > FEW_ELEMENTS:
        ev.budget.charge_display(len(given) + len(named))
    frame.line, frame.column = line, column
    if frame.end_line < end_line or frame.end_line > end_line + 400:
        frame.end_line = end_line
    if (callee is UNKNOWN or (type(callee) is External and ev.is_strange(callee.name))) and not frame.quiet:
        ev.running.unfollowed.add((frame.module.name, line))
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


def _not(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, operand = node
    return opposite(tested(ev, frame, ev.evaluate(frame, operand)))


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
    if len(items) > FEW_ELEMENTS:
        ev.budget.charge_display(len(items))
    if kind == "tuple" and exact and items and all(isinstance(item, Const) for item in items):
        held_items = tuple(item.value for item in items)  # type: ignore[attr-defined]
        if not is_nested_too_large(held_items):
            return Const(held_items)
    return Sequence(kind, tuple(items), exact, not filled)


def _dict(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, keys, values = node
    if len(values) > FEW_ELEMENTS:
        ev.budget.charge_display(len(values))
    items: dict[Value, Value] = {}
    exact, filled = True, False
    for key, value in zip(keys, values, strict=True):
        at = None if key is None else ev.evaluate(frame, key)
        held = ev.evaluate(frame, value)
        if at is None:
            if isinstance(held, Mapping):
                ev.budget.charge(len(held.items))
                items.update(held.items)
                exact = exact and held.exact
                filled = filled or truth(held) is True
            else:
                exact = False
        else:
            items[at] = held
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
    """Return whether a class with source defines `name`."""
    held = ev.member(value.cls, name)
    return held is not None and isinstance(held.holder, ClassRef)


def _joined(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, expressions, methods = node
    if len(expressions) > FEW_ELEMENTS:
        ev.budget.charge_display(len(expressions))
    parts = [ev.evaluate(frame, part) for part in expressions]
    for part in parts:
        if isinstance(part, Instance):
            method = next((name for name in methods if _has(ev, part, name)), "__repr__")
            ev.call(frame, ev.attribute(frame, part, method))
    return each_text(parts, joined_text)


def _yield(ev: Interpreter, frame: Frame, node: Node) -> Value:
    _, expression, is_from, _ = node
    if expression is None:
        frame.yields.append(NONE)
        return UNKNOWN
    value = ev.evaluate(frame, expression)
    if is_from:
        items, exact = iterate(ev, frame, value)
        if len(frame.yields) + len(items) > LARGEST:
            frame.partial = True
            return UNKNOWN
        frame.yields.extend(items if exact else (*items, UNKNOWN))
        return UNKNOWN
    frame.yields.append(value)
    if ev.unknown_code is not None:
        ev.unknown_code.met(value)
        frame.exit_musts.append(set(frame.must))  # the consumer may never resume the generator
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
    nodes.BOOL: boolean,
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
