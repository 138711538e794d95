"""Operators on constants; CPython computes the results, within limits of size."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from coldfork.source.values.kinds import Const

#: Longer texts and tuples are not computed.
LONGEST = 2_000
#: Containers with more items are not converted to constants.
LARGEST = 5_000
#: Whole numbers with more bits are not computed.
_WIDEST = 10_000
#: A width or a precision that is large, or is itself an argument of the format.
_WIDE = re.compile(r"\d{4}|\*|\{[^{}]*\{")
#: The kind of a list whose order is unknown, so that it is not a constant.
UNORDERED = "unordered"
#: The kind of a list of which only the first items are known; the last of them stands for all others.
STARTED = "started"
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "or": operator.or_,
    "and": operator.and_,
    "xor": operator.xor,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda one, container: one in container,
    "not in": lambda one, container: one not in container,
    "is": lambda one, other: type(one) is type(other) and one == other,
    "is not": lambda one, other: type(one) is not type(other) or one != other,
}
#: Makes a container from items; only a dictionary is made from two lists instead.
_CONTAINERS: dict[str, Callable[[Iterable[Any]], object]] = {"list": list, "tuple": tuple, "set": set}


def container(kind: str, items: Iterable[Const | None]) -> Const | None:
    """Return a list, tuple or set of constants as a constant; None if an item is not constant."""
    held: list[object] = []
    for item in items:
        if item is None:
            return None
        held.append(item.value)
    try:
        return Const(_CONTAINERS[kind](held))
    except (KeyError, TypeError):  # unknown kind, or an item is not hashable
        return None


def dictionary(keys: Iterable[Const | None], values: Iterable[Const | None]) -> Const | None:
    """Return a dictionary as a constant; None if a key or a value is not constant."""
    names, held = container("list", keys), container("list", values)
    if names is None or held is None:
        return None
    try:
        return Const(dict(zip(names.value, held.value, strict=True)))
    except TypeError:  # a key is not hashable
        return None


def compare(name: str, left: object, right: object) -> bool | None:
    """Return the result of comparing two constants; None if Python raises an error."""
    try:
        return bool(_COMPARISONS[name](left, right))
    except (TypeError, ValueError):  # ValueError, as for `-1 in b"a"`, because -1 is no byte
        return None


def combine(name: str, left: object, right: object) -> Const | None:
    """Return the result of arithmetic on two constants; None if it is too large or Python raises an error."""
    if name not in _ARITHMETIC or _is_long(name, left, right):
        return None
    try:
        result = _ARITHMETIC[name](left, right)
    except Exception:  # arithmetic may raise any exception
        return None
    if isinstance(result, (str, bytes, tuple)) and len(result) > LONGEST:
        return None
    return Const(result)


def _is_long(name: str, left: object, right: object) -> bool:
    """Return True if the result would be too large to be computed."""
    if name == "mod" and isinstance(left, (str, bytes)):
        return is_format_wide(left)
    if name == "add" and isinstance(left, (str, bytes, tuple)) and isinstance(right, (str, bytes, tuple)):
        return len(left) + len(right) > LONGEST
    if name != "mul":
        return False
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() + right.bit_length() > _WIDEST
    for text, times in ((left, right), (right, left)):
        if isinstance(text, (str, bytes, tuple)) and isinstance(times, int):
            return len(text) * times > LONGEST
    return False


def is_format_wide(text: str | bytes) -> bool:
    """Return True for a format that may make a long text from a short value."""
    return _WIDE.search(text if isinstance(text, str) else text.decode("latin-1")) is not None


def is_nested_too_large(items: tuple[object, ...]) -> bool:
    """Return True if nested tuples have too many items in total, where shared items count each time.

    Comparing or hashing them visits every item.
    """
    if not any(isinstance(item, tuple) for item in items):
        return False
    waiting, seen = [items], 0
    while waiting:
        one = waiting.pop()
        seen += len(one)
        if seen > LARGEST:
            return True
        waiting += [item for item in one if isinstance(item, tuple)]
    return False


def negate(name: str, value: object) -> Const | None:
    """Return the result of a unary operator on a whole number."""
    if not isinstance(value, int):
        return None
    return Const({"neg": -value, "pos": +value, "invert": ~int(value)}[name])
