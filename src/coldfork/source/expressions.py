"""Evaluate expressions to abstract values, noting what evaluating them runs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from coldfork.model.positions import Position
from coldfork.source import ir
from coldfork.source.arms import FALLS, Arms
from coldfork.source.assign import assign, bind_name, defining_env
from coldfork.source.branches import quoted, test_of, tested
from coldfork.source.consume import awaited, iterate
from coldfork.source.ir import Node
from coldfork.source.lookup import name_value
from coldfork.source.values import (
    FALSE,
    NONE,
    RELEASE,
    SETTLED,
    TRUE,
    TRUTHY,
    UNKNOWN,
    Bound,
    ClassRef,
    Condition,
    Const,
    Env,
    External,
    Function,
    Instance,
    Lazy,
    Mapping,
    Method,
    ModuleRef,
    Sequence,
    Union,
    Unknown,
    Value,
    alternatives,
    union,
)
from coldfork.source.wakes import PAUSED, Frame, Raised

if TYPE_CHECKING:
    from coldfork.source.evaluator import Evaluator

_LONGEST_CONSTANT = 2_000
_LONGEST_CHAIN = 40
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "or": operator.or_, "and": operator.and_, "xor": operator.xor,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_COMPARE_METHODS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def _const(ev: Evaluator, frame: Frame, node: Node) -> Value:
    return Const(node[1])


def _name(ev: Evaluator, frame: Frame, node: Node) -> Value:
    return name_value(ev, frame, node[1])


def _attr(ev: Evaluator, frame: Frame, node: Node) -> Value:
    value = ev.evaluate(frame, node[1])
    if not frame.quiet:
        frame.line = node[3]
        if frame.end_line < node[3]:
            frame.end_line = node[3]
    return ev.attribute(frame, value, node[2])


def _call(ev: Evaluator, frame: Frame, node: Node) -> Value:
    _, function, positional, keywords, line, column, end_line = node
    callee = ev.evaluate(frame, function)
    given: list[Value] = []
    for argument in positional:
        if argument[0] == ir.STAR:
            items, exact = iterate(ev, frame, ev.evaluate(frame, argument[1]))
            given.extend(items if exact else (*items, UNKNOWN))
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


def _ifexp(ev: Evaluator, frame: Frame, node: Node) -> Value:
    _, test, body, orelse, line, span = node
    outcome = test_of(tested(ev, frame, ev.evaluate(frame, test)))
    if outcome.nominal is True and outcome.when_false is None:
        return ev.evaluate(frame, body)
    if outcome.nominal is False and outcome.when_true is None:
        return ev.evaluate(frame, orelse)
    results: list[tuple[Value, Condition | None]] = []
    arms = Arms(ev, frame)

    def follow(part: Node, off: Condition | None) -> Callable[[], int]:
        def work() -> int:
            results.append((ev.evaluate(frame, part), off))
            return FALLS

        return work

    unknown = outcome.nominal is None
    for part, wanted, off in ((body, True, outcome.when_true), (orelse, False, outcome.when_false)):
        nominal = unknown or outcome.nominal is wanted
        condition = quoted(frame.module, span, not wanted) if unknown else None if nominal else off
        other = outcome.when_false if wanted else outcome.when_true
        arms.follow(follow(part, None if nominal else off), condition, nominal, other.presumes if nominal and other else "")
    arms.join()
    return _joined_results(results)


def _joined_results(results: list[tuple[Value, Condition | None]]) -> Value:
    results.sort(key=lambda item: item[1] is not None)
    parts = []
    for value, condition in results:
        if condition is not None:
            value = Union(tuple((v, c or condition) for v, c in alternatives(value)))
        parts.append(value)
    return union(parts)


def _bool(ev: Evaluator, frame: Frame, node: Node) -> Value:
    """`and` and `or`: later operands are evaluated only as far as the earlier ones let them."""
    _, is_and, values, line, spans = node
    if len(values) > _LONGEST_CHAIN:
        values = (*values[: _LONGEST_CHAIN - 1], (ir.OTHER, values[_LONGEST_CHAIN - 1 :]))
    value = ev.evaluate(frame, values[0])
    if len(values) == 1:
        return value
    outcome = test_of(tested(ev, frame, value))
    goes_on = outcome if is_and else outcome.inverted()
    rest = (node[0], is_and, values[1:], line, spans[1:])
    if goes_on.nominal is True and goes_on.when_false is None:
        return _bool(ev, frame, rest)
    if goes_on.nominal is False and goes_on.when_true is None:
        return value
    collected: list[Value] = []

    def follow() -> int:
        collected.append(_bool(ev, frame, rest))
        return FALLS

    arms = Arms(ev, frame)
    if goes_on.nominal is True:
        presumes = goes_on.when_false.presumes if goes_on.when_false else ""
        arms.follow(follow, None, True, presumes)
        arms.join()
        return collected[0] if collected else UNKNOWN
    nominal = goes_on.nominal is None
    arms.follow(follow, quoted(frame.module, spans[0], not is_and) if nominal else goes_on.when_true, nominal)
    arms.follow(lambda: FALLS, None, True)
    arms.join()
    if not nominal:
        return _joined_results([(value, None), *[(c, goes_on.when_true) for c in collected]])
    # Cut short, `and` yields something false, `or` something true.
    short = FALSE if is_and else TRUTHY if isinstance(value, Unknown) else value
    return union([*collected, short])


def _not(ev: Evaluator, frame: Frame, node: Node) -> Value:
    value = ev.evaluate(frame, node[1])
    outcome = test_of(tested(ev, frame, value))
    if outcome.nominal is None:
        return UNKNOWN
    nominal = FALSE if outcome.nominal else TRUE
    other = outcome.when_false if outcome.nominal else outcome.when_true
    if other is None:
        return nominal
    return Union(((nominal, None), (TRUE if outcome.nominal else FALSE, other)))


def _compare(ev: Evaluator, frame: Frame, node: Node) -> Value:
    _, left_node, operators, comparators = node
    left = ev.evaluate(frame, left_node)
    result: Value = TRUE
    for name, right_node in zip(operators, comparators, strict=True):
        right = ev.evaluate(frame, right_node)
        result = _compare_pair(ev, frame, name, left, right)
        if len(operators) > 1 and test_of(result).nominal is not True:
            return result if test_of(result).nominal is False else UNKNOWN
        left = right
    return result


def _compare_pair(ev: Evaluator, frame: Frame, name: str, left: Value, right: Value) -> Value:
    if isinstance(left, Union) or isinstance(right, Union):
        found = []
        for one, first in alternatives(left):
            for other, second in alternatives(right):
                outcome = _compare_single(ev, frame, name, one, other)
                found.append((outcome, first or second))
        return _joined_results(found)
    return _compare_single(ev, frame, name, left, right)


def _compare_single(ev: Evaluator, frame: Frame, name: str, left: Value, right: Value) -> Value:
    if name in ("is", "is not"):
        same = _identical(left, right)
        if same is None:
            return UNKNOWN
        return Const(same if name == "is" else not same)
    if name in ("in", "not in"):
        if right is RELEASE and isinstance(left, Const) and str(left.value).isalpha():
            return Const(name == "not in")  # a release number holds no words
        held = _contains(ev, frame, left, right)
        if held is None:
            return UNKNOWN
        return Const(held if name == "in" else not held)
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARISONS[name](left.value, right.value)))
        except TypeError:
            return UNKNOWN
    if left is TRUTHY and isinstance(right, Const) and right.value == 0 and name in (">", "!=", "=="):
        return Const(name != "==")  # a number that is known not to be zero
    if isinstance(left, Instance):
        method = ev.attribute(frame, left, _COMPARE_METHODS[name])
        if isinstance(method, Bound) and isinstance(method.function, Function):
            return ev.call(frame, method, (right,))
    if name in ("==", "!="):
        same = _identical(left, right)
        if same is not None:
            return Const(same if name == "==" else not same)
    return UNKNOWN


def _identical(left: Value, right: Value) -> bool | None:
    """Whether two values are the same object, as far as that can be told."""
    if isinstance(left, Const) and isinstance(right, Const):
        return type(left.value) is type(right.value) and bool(left.value == right.value)
    solid = (Function, ClassRef, ModuleRef, Instance, Sequence, Mapping, Bound)
    if (left is NONE or left == NONE) or (right is NONE or right == NONE):
        other = right if left == NONE else left
        if isinstance(other, solid) or (isinstance(other, External) and other.is_module) or getattr(other, "truthy", False):
            return False
        return None
    if isinstance(left, (Function, ClassRef, ModuleRef)) and isinstance(right, (Function, ClassRef, ModuleRef)):
        return left is right or left == right
    if isinstance(left, Instance) and isinstance(right, Instance):
        if left is right:
            return True
        return False if left.is_member and right.is_member else None
    if isinstance(left, Instance) and left.is_member and isinstance(right, Const):
        held = left.attributes.get("value")
        return held == right if isinstance(held, Const) else None
    if isinstance(left, External) and isinstance(right, External) and left.name == right.name and "(" not in left.name:
        return True
    return None


def _contains(ev: Evaluator, frame: Frame, item: Value, container: Value) -> bool | None:
    if isinstance(container, External) and container.name in ("os.environ", "os.environ.keys()"):
        if isinstance(item, Const):
            return ev.environment.get(str(item.value)) is not None
        return None
    if isinstance(container, Mapping) and isinstance(item, SETTLED):
        if item in container.items:
            return True
        return False if container.exact and all(isinstance(k, SETTLED) for k in container.items) else None
    if isinstance(container, Sequence):
        if item in container.items and isinstance(item, (Const, Function, ClassRef, Instance)):
            return True
        if container.exact and isinstance(item, Instance) and item.is_member:
            outcomes = [_identical(item, other) for other in container.items]
            return False if all(outcome is False for outcome in outcomes) else None
        known = container.exact and isinstance(item, Const) and all(isinstance(i, Const) for i in container.items)
        return False if known else None
    if isinstance(container, Const) and isinstance(item, Const):
        try:
            return item.value in container.value
        except TypeError:
            return None
    if isinstance(container, Instance):
        method = ev.attribute(frame, container, "__contains__")
        if isinstance(method, Bound):
            return test_of(ev.call(frame, method, (item,))).nominal
    return None


def _sequence(ev: Evaluator, frame: Frame, node: Node) -> Value:
    items: list[Value] = []
    exact = True
    for element in node[2]:
        if element[0] == ir.STAR:
            more, complete = iterate(ev, frame, ev.evaluate(frame, element[1]))
            items.extend(more)
            exact = exact and complete
        else:
            items.append(ev.evaluate(frame, element))
    if node[1] == "tuple" and exact and items and all(type(item) is Const for item in items):
        return Const(tuple(item.value for item in items))  # type: ignore[attr-defined]
    return Sequence(node[1], tuple(items), exact)


def _dict(ev: Evaluator, frame: Frame, node: Node) -> Value:
    items: dict[Value, Value] = {}
    exact = True
    for key, value in zip(node[1], node[2], strict=True):
        held = ev.evaluate(frame, value)
        if key is None:
            if isinstance(held, Mapping):
                items.update(held.items)
                exact = exact and held.exact
            else:
                exact = False
        else:
            items[ev.evaluate(frame, key)] = held
    return Mapping(items, exact)


def _index(ev: Evaluator, frame: Frame, node: Node) -> Value:
    container = ev.evaluate(frame, node[1])
    key = ev.evaluate(frame, node[2])
    return ev.item(frame, container, key)


def _lambda(ev: Evaluator, frame: Frame, node: Node) -> Value:
    code = node[1]
    for default in (*code[0][1], *code[0][4]):
        if default is not None:
            ev.evaluate(frame, default)
    return Function(frame.module, code[5], "<lambda>", code, defining_env(frame) if frame.toplevel else frame.env, None)


def _comprehension(ev: Evaluator, frame: Frame, node: Node) -> Value:
    _, kind, elements, generators, line = node
    outer_env, outer_position, outer_binds, outer_cls = frame.env, frame.position, frame.binds, frame.cls
    before = frame.conditions
    iterated = ev.evaluate(frame, generators[0][1])
    if kind == "generator":
        return _generator(frame, node, iterated)
    first, exact = iterate(ev, frame, iterated)
    if frame.toplevel and frame.position in (Position.MODULE, Position.CLASS_BODY):
        frame.position = Position.COMPREHENSION
    frame.env, frame.binds, frame.cls = Env(outer_env), None, outer_cls
    made: list[Value] = []
    try:
        complete = _generate(ev, frame, node, 0, first, exact, made)
    finally:
        frame.env, frame.position, frame.binds, frame.cls = outer_env, outer_position, outer_binds, outer_cls
        frame.conditions = before
    if kind == "dict":
        pairs = dict(zip(made[::2], made[1::2], strict=False))
        return Mapping(pairs, complete)
    return Sequence("list" if kind == "generator" else kind, tuple(made), complete)


def _generator(frame: Frame, node: Node, iterated: Value) -> Value:
    """A generator expression: only its outermost iterable is evaluated, the rest runs where it is consumed."""
    _, _, elements, generators, line = node
    block: ir.Block = ((ir.EXPR, line, line, (ir.YIELD, elements[0], False, line)),)
    for index in range(len(generators) - 1, -1, -1):
        target, iterable, tests = generators[index]
        for test, span in reversed(tests):
            block = ((ir.IF, line, test, block, (), span),)
        block = ((ir.FOR, line, target, (ir.NAME, ".0", line) if index == 0 else iterable, block, ()),)
    parameters = ((".0",), (), None, (), (), None)
    code: Node = (parameters, block, True, False, "<genexpr>", line, None, ())
    env = frame.env if not frame.toplevel or frame.env is None or frame.env.names or frame.cls else None
    return Lazy("generator", (Function(frame.module, line, "<genexpr>", code, env, None), (iterated,), {}))


def _generate(
    ev: Evaluator, frame: Frame, node: Node, depth: int, items: tuple[Value, ...], exact: bool, made: list[Value]
) -> bool:
    """One `for` of a comprehension, with all that is inside it; whether what was made is complete."""
    _, _, elements, generators, line = node
    target, _, tests = generators[depth]
    complete = exact

    def inside() -> int:
        nonlocal complete
        if depth + 1 < len(generators):
            more, whole = iterate(ev, frame, ev.evaluate(frame, generators[depth + 1][1]))
            complete = _generate(ev, frame, node, depth + 1, more, whole, made) and complete
        else:
            made.extend([ev.evaluate(frame, element) for element in elements])
        return FALLS

    def one(item: Value) -> None:
        nonlocal complete
        assign(ev, frame, target, item)
        saved = frame.conditions
        for test, span in tests:
            outcome = test_of(tested(ev, frame, ev.evaluate(frame, test)))
            if outcome.nominal is False and outcome.when_true is None:
                frame.conditions = saved
                return
            if outcome.nominal is not True:
                complete = False
                frame.conditions = (*frame.conditions, outcome.when_true or quoted(frame.module, span, False))
        _maybe(frame, inside, len(frame.conditions) > len(saved))
        frame.conditions = saved

    if exact:
        for item in items:
            one(item)
    else:
        condition = Condition(words=f"the comprehension at line {line} of {frame.module.name} has something to iterate")
        arms = Arms(ev, frame)

        def around() -> int:
            one(union(items) if items else UNKNOWN)
            return FALLS

        arms.follow(around, condition, True)
        arms.follow(lambda: FALLS, None, True)
        arms.join()
    return complete


def _maybe(frame: Frame, work: Callable[[], int], uncertain: bool) -> None:
    """Do `work`; when it is uncertain, nothing it wakes is certain."""
    if not uncertain:
        work()
        return
    must = set(frame.must)
    work()
    frame.must = must


def _binary(ev: Evaluator, frame: Frame, node: Node) -> Value:
    _, name, left_node, right_node, line = node
    return operate(ev, frame, name, ev.evaluate(frame, left_node), ev.evaluate(frame, right_node))


def operate(ev: Evaluator, frame: Frame, name: str, left: Value, right: Value, in_place: bool = False) -> Value:
    """A binary operator, in place first where it is asked to be."""
    if in_place and isinstance(left, Instance):
        method = ev.attribute(frame, left, f"__i{name}__")
        if isinstance(method, Bound):
            return ev.call(frame, method, (right,))
    if isinstance(left, Const) and isinstance(right, Const) and name in _ARITHMETIC:
        try:
            result = _ARITHMETIC[name](left.value, right.value)
        except Exception:  # arithmetic on constants may raise anything
            return UNKNOWN
        if isinstance(result, (str, bytes, tuple)) and len(result) > _LONGEST_CONSTANT:
            return UNKNOWN
        return Const(result)
    if isinstance(left, Sequence) and name == "add":
        items, exact = iterate(ev, frame, right)
        return Sequence(left.kind, (*left.items, *items), left.exact and exact)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and name in ("and", "or", "sub"):
        return _set_operation(name, left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping) and name == "or":
        return Mapping({**left.items, **right.items}, left.exact and right.exact)
    for single, _ in alternatives(left):
        if isinstance(single, (Instance, ClassRef)):
            method = ev.attribute(frame, single, f"__{name}__") if isinstance(single, Instance) else None
            if isinstance(method, Bound):
                return ev.call(frame, method, (right,))
    for single, _ in alternatives(right):
        if isinstance(single, Instance):
            method = ev.attribute(frame, single, f"__r{name}__")
            if isinstance(method, Bound):
                return ev.call(frame, method, (left,))
    return UNKNOWN


def _set_operation(name: str, left: Sequence, right: Sequence) -> Value:
    """Intersection, union and difference of sets."""
    exact = left.exact and right.exact and all(isinstance(i, Const) for i in (*left.items, *right.items))
    if name == "or":
        return Sequence("set", tuple(dict.fromkeys((*left.items, *right.items))), left.exact and right.exact)
    wanted = name == "and"
    kept = tuple(i for i in left.items if (i in right.items) is wanted) if exact else left.items
    return Sequence("set", kept, exact)


def _unary(ev: Evaluator, frame: Frame, node: Node) -> Value:
    value = ev.evaluate(frame, node[2])
    if isinstance(value, Const) and isinstance(value.value, int):
        return Const({"neg": -value.value, "pos": +value.value, "invert": ~value.value}[node[1]])
    if isinstance(value, Instance):
        method = ev.attribute(frame, value, f"__{node[1]}__")
        if isinstance(method, Bound):
            return ev.call(frame, method)
    return UNKNOWN


def _walrus(ev: Evaluator, frame: Frame, node: Node) -> Value:
    value = ev.evaluate(frame, node[2])
    if frame.env is not None:
        bind_name(ev, frame, node[1], value)
    return value


def _joined(ev: Evaluator, frame: Frame, node: Node) -> Value:
    parts = [ev.evaluate(frame, part) for part in node[1]]
    for part in parts:
        if isinstance(part, Instance):
            ev.call(frame, ev.attribute(frame, part, "__str__"))
    if all(isinstance(part, Const) for part in parts):
        text = "".join(str(part.value) for part in parts if isinstance(part, Const))
        return Const(text) if len(text) <= _LONGEST_CONSTANT else UNKNOWN
    return UNKNOWN


def _yield(ev: Evaluator, frame: Frame, node: Node) -> Value:
    if node[1] is None:
        frame.yields.append(NONE)
        return UNKNOWN
    value = ev.evaluate(frame, node[1])
    if node[2]:
        items, exact = iterate(ev, frame, value)
        frame.yields.extend(items if exact else (*items, UNKNOWN))
        return UNKNOWN
    frame.yields.append(value)
    if frame.first_yield_only and not frame.conditions:
        raise Raised(PAUSED)
    return UNKNOWN


def _await(ev: Evaluator, frame: Frame, node: Node) -> Value:
    value = ev.evaluate(frame, node[1])
    frame.line = node[2]
    return awaited(ev, frame, value)


def _star(ev: Evaluator, frame: Frame, node: Node) -> Value:
    return ev.evaluate(frame, node[1])


def _others(ev: Evaluator, frame: Frame, node: Node) -> Value:
    for part in node[1]:
        ev.evaluate(frame, part)
    return UNKNOWN


EVALUATE: dict[int, Callable[[Evaluator, Frame, Node], Value]] = {
    ir.CONST: _const,
    ir.NAME: _name,
    ir.ATTR: _attr,
    ir.CALL: _call,
    ir.IFEXP: _ifexp,
    ir.BOOL: _bool,
    ir.NOT: _not,
    ir.COMPARE: _compare,
    ir.SEQUENCE: _sequence,
    ir.DICT: _dict,
    ir.INDEX: _index,
    ir.LAMBDA: _lambda,
    ir.COMPREHENSION: _comprehension,
    ir.BINARY: _binary,
    ir.WALRUS: _walrus,
    ir.JOINED: _joined,
    ir.YIELD: _yield,
    ir.AWAIT: _await,
    ir.STAR: _star,
    ir.SLICE: _others,
    ir.OTHER: _others,
    ir.UNARY: _unary,
}

__all__ = ["EVALUATE", "Method"]
