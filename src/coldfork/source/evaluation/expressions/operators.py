"""Operators: arithmetic, comparison and membership, on constants and through methods of classes."""

from __future__ import annotations

from collections.abc import Sequence as Items

from coldfork.source.evaluation.expressions.membership import identical, member, plain
from coldfork.source.evaluation.flow.truth_tests import test_of
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.mutation import forget
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.semantics import constants
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition, all_of
from coldfork.source.values.kinds import (
    FALSE,
    NATURAL,
    TRUE,
    TRUTHY,
    UNKNOWN,
    Bound,
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
from coldfork.source.values.texts import PartialText, appended, below, is_equal, percent
from coldfork.source.values.unions import MOST_ALTERNATIVES, alternatives, each_text, joined, truth

#: The value of `__name__` in a spawned process, which has imported the program again.
_OF_CHILDREN = "__mp_main__"
_COMPARE_METHODS = {
    "==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__",
}  # fmt: skip
#: Operators whose result is not negative if both operands are not.
_STAYING_NATURAL = frozenset({"add", "mul", "floordiv", "mod"})


def compare(ev: Interpreter, frame: Frame, node: Node) -> Value:
    """Return the value of one comparison, or of a chain of them."""
    _, left_node, operators, comparators = node
    left = ev.evaluate(frame, left_node)
    result: Value = TRUE
    ended: list[tuple[Value, Condition | None]] = []
    for name, right_node in zip(operators, comparators, strict=True):
        right = ev.evaluate(frame, right_node)
        result = compare_pair(ev, frame, name, left, right)
        if len(operators) > 1:
            outcome = test_of(result)
            if outcome.nominal is not True:
                return result if outcome.nominal is False and outcome.when_true is None else UNKNOWN
            if outcome.when_false is not None:
                ended.append((FALSE, outcome.when_false))
        left = right
    return joined([(result, None), *ended]) if ended else result


def compare_pair(ev: Interpreter, frame: Frame, name: str, left: Value, right: Value) -> Value:
    """Return the value of one comparison."""
    if isinstance(left, Union) or isinstance(right, Union):
        found = []
        for one, first in alternatives(left):
            for other, second in alternatives(right):
                outcome = _compare_single(ev, frame, name, one, other)
                found.append((outcome, all_of(first, second)))
        return joined(found)
    return _compare_single(ev, frame, name, left, right)


def _compare_single(ev: Interpreter, frame: Frame, name: str, left: Value, right: Value) -> Value:
    if name in ("is", "is not"):
        same = identical(left, right)
        if same is None:
            return UNKNOWN
        return Const(same if name == "is" else not same)
    if name in ("in", "not in"):
        return member(ev, frame, left, right, name == "in")
    first = plain(left)
    second = plain(right) if first is not None else None
    if first is not None and second is not None:
        if _OF_CHILDREN in (first.value, second.value):
            return UNKNOWN  # both names are possible: a spawned process imports the program again
        outcome = constants.compare(name, first.value, second.value)
        return UNKNOWN if outcome is None else Const(outcome)
    if name in ("==", "!=") and (isinstance(left, PartialText) or isinstance(right, PartialText)):
        equal = is_equal(left, right)
        return UNKNOWN if equal is None else Const(equal if name == "==" else not equal)
    if left is NATURAL and isinstance(right, Const) and type(right.value) is int and right.value <= 0:
        return _below_all(name, right.value)
    if left is TRUTHY and isinstance(right, Const) and right.value == 0 and name in (">", "!=", "=="):
        return Const(name != "==")  # the number is known to differ from zero
    if isinstance(left, Instance):
        method = ev.attribute(frame, left, _COMPARE_METHODS[name])
        if isinstance(method, Bound) and isinstance(method.function, Function):
            return ev.call(frame, method, (right,))
    if name in ("==", "!="):
        same = identical(left, right)
        if same is not None:
            return Const(same if name == "==" else not same)
    return pytorch.TENSOR if _operates(ev, left, right) else UNKNOWN


def _below_all(name: str, number: int) -> Value:
    """Return how a non-negative number compares with a constant that is negative or zero."""
    if number == 0 and name in (">", "<=", "==", "!="):
        return UNKNOWN
    return Const(name in (">", ">=", "!="))


def binary(ev: Interpreter, frame: Frame, node: Node) -> Value:
    """Return the value of a binary operator with its operands."""
    _, name, left_node, right_node, _ = node
    return operate(ev, frame, name, ev.evaluate(frame, left_node), ev.evaluate(frame, right_node))


def operate(
    ev: Interpreter, frame: Frame, name: str, left: Value, right: Value, in_place: bool = False
) -> Value:
    """Return the value of a binary operator; with `in_place`, its in-place method is tried first."""
    if ev.unknown_code is not None and (type(left) is Unknown or type(right) is Unknown):
        every = (single for side in (left, right) for single, _ in alternatives(side))
        given = [one for one in every if not isinstance(one, (Unknown, Const, External))]
        if given:
            ev.unknown_code.met(*given)
    if in_place and isinstance(left, Instance):
        method = ev.attribute(frame, left, f"__i{name}__")
        if isinstance(method, Bound):
            return ev.call(frame, method, (right,))
    if name in ("add", "mod") and (type(left) is Union or type(right) is Union):
        if any(_is_text(single) for side in (left, right) for single, _ in alternatives(side)):
            if len(alternatives(left)) * len(alternatives(right)) > MOST_ALTERNATIVES:
                ev.budget.charge_alternatives()
            return each_text((left, right), lambda sides: _of_these(ev, frame, name, sides[0], sides[1]))
    made = _of_these(ev, frame, name, left, right)
    if in_place and isinstance(left, Sequence) and not ev.presumes:
        forget(left)  # other names may refer to the same object
    return made


def _of_these(ev: Interpreter, frame: Frame, name: str, left: Value, right: Value) -> Value:
    """Return the value of a binary operator, treating operands with several alternatives as single values."""
    if isinstance(left, Const) and isinstance(right, Const):
        return constants.combine(name, left.value, right.value) or UNKNOWN
    if name in _STAYING_NATURAL and _is_natural(left) and _is_natural(right):
        return NATURAL
    if isinstance(left, Sequence) and name == "add":
        items, exact = iterate(ev, frame, right)
        if len(left.items) + len(items) > constants.LARGEST:
            return Sequence(left.kind, left.items, False, _may_be_empty(left, right))
        ev.budget.charge(len(left.items))
        exact = left.exact and exact
        return Sequence(left.kind, (*left.items, *items), exact, not exact and _may_be_empty(left, right))
    if isinstance(left, (Sequence, Mapping)) and isinstance(right, (Sequence, Mapping)):
        ev.budget.charge(len(left.items) + len(right.items))
    if isinstance(left, Sequence) and isinstance(right, Sequence) and name in ("and", "or", "sub"):
        return _set_operation(name, left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping) and name == "or":
        return Mapping({**left.items, **right.items}, left.exact and right.exact, _may_be_empty(left, right))
    written = _written(name, left, right)
    if written is not None:
        return written
    return _by_method(ev, frame, name, left, right)


def _is_natural(value: Value) -> bool:
    return value is NATURAL or (isinstance(value, Const) and type(value.value) is int and value.value >= 0)


def _written(name: str, left: Value, right: Value) -> Value | None:
    """Return the text or path that an operator makes of partly known operands."""
    if name == "add":
        return appended(left, right)
    if name == "truediv":
        return below(left, right)
    if name == "mod" and isinstance(left, Const) and isinstance(left.value, str):
        return percent(left.value, right, _arguments(right))
    return None


def _is_text(value: Value) -> bool:
    return isinstance(value, PartialText) or (isinstance(value, Const) and isinstance(value.value, str))


def _arguments(value: Value) -> Items[Value] | None:
    """Return the items of a tuple of arguments for `%`; None for a single argument that is not a tuple."""
    if isinstance(value, Sequence) and value.kind == "tuple":
        return value.items if value.exact else ()
    return None


def _may_be_empty(left: Value, right: Value) -> bool:
    return truth(left) is not True and truth(right) is not True


def _by_method(ev: Interpreter, frame: Frame, name: str, left: Value, right: Value) -> Value:
    """Return the value of an operator from the method of either operand's class; None if neither has one."""
    for single, _ in alternatives(left):
        if isinstance(single, Instance):
            method = ev.attribute(frame, single, f"__{name}__")
            if isinstance(method, Bound):
                return ev.call(frame, method, (right,))
    for single, _ in alternatives(right):
        if isinstance(single, Instance):
            method = ev.attribute(frame, single, f"__r{name}__")
            if isinstance(method, Bound):
                return ev.call(frame, method, (left,))
    return pytorch.TENSOR if _operates(ev, left, right) else UNKNOWN


def _operates(ev: Interpreter, left: Value, right: Value) -> bool:
    """Return True if an operand is a tensor that performs the operation; formatting it into a text does not
    count.
    """
    if pytorch.are_tensors(ev, left):
        return True
    return pytorch.are_tensors(ev, right) and not _is_text(left)


def _set_operation(name: str, left: Sequence, right: Sequence) -> Value:
    """Return the intersection, union or difference of sets."""
    exact = left.exact and right.exact and all(isinstance(i, Const) for i in (*left.items, *right.items))
    if name == "or":
        both = tuple(dict.fromkeys((*left.items, *right.items)))
        return Sequence("set", both, left.exact and right.exact, _may_be_empty(left, right))
    wanted = name == "and"
    others = set(right.items) if exact else ()
    kept = tuple(i for i in left.items if (i in others) is wanted) if exact else left.items
    return Sequence("set", kept, exact)


def unary(ev: Interpreter, frame: Frame, node: Node) -> Value:
    """Return the value of a unary operator, on a number or through a method."""
    _, operator, operand = node
    value = ev.evaluate(frame, operand)
    if isinstance(value, Const):
        return constants.negate(operator, value.value) or UNKNOWN
    if isinstance(value, Instance):
        method = ev.attribute(frame, value, f"__{operator}__")
        if isinstance(method, Bound):
            return ev.call(frame, method)
    return pytorch.TENSOR if pytorch.are_tensors(ev, value) else UNKNOWN
