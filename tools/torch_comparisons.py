"""Comparisons and isinstance tests, as far as the values are known."""

from __future__ import annotations

import ast

from torch_values import (
    NONE,
    ClassValue,
    Constant,
    External,
    InstanceValue,
    ModuleValue,
    Value,
    floor,
    is_none,
)

BUILTIN_TYPES: dict[str, type] = {"int": int, "str": str, "bool": bool, "float": float, "list": list}


def compared(left: Value, operator: ast.cmpop, right: Value) -> bool | None:
    """The outcome of a comparison, None if it is not known."""
    if isinstance(operator, ast.Is | ast.IsNot) and right == NONE:
        known = is_none(left)
        return known if known is None or isinstance(operator, ast.Is) else not known
    if isinstance(left, Constant) and isinstance(right, Constant):
        if isinstance(operator, ast.Eq | ast.NotEq):
            return (left.value == right.value) == isinstance(operator, ast.Eq)
        if not isinstance(left.value, int) or not isinstance(right.value, int):
            return None
        return _ordered(left.value, operator, right.value)
    low = floor(left)
    if low is None or not isinstance(right, Constant) or not isinstance(right.value, int):
        return None
    match operator:
        case ast.GtE() if low >= right.value:
            return True
        case ast.Gt() | ast.NotEq() if low > right.value:
            return True
        case ast.Lt() if low >= right.value:
            return False
        case ast.LtE() | ast.Eq() if low > right.value:
            return False
    return None


def _ordered(left: int, operator: ast.cmpop, right: int) -> bool | None:
    """Compare two numbers."""
    match operator:
        case ast.Lt():
            return left < right
        case ast.LtE():
            return left <= right
        case ast.Gt():
            return left > right
        case ast.GtE():
            return left >= right
    return None


def is_instance(value: Value, kind: Value) -> bool | None:
    """Whether a value is an instance of a class, None if that is not known."""
    if value == NONE:
        return False
    builtin = isinstance(kind, External) and BUILTIN_TYPES.get(kind.name.removeprefix("builtins."))
    if isinstance(value, Constant):
        return isinstance(value.value, builtin) if builtin else None
    if floor(value) is not None:
        return builtin is int
    if isinstance(value, InstanceValue) and isinstance(kind, ClassValue):
        return True if value.cls is kind else None
    if isinstance(value, ModuleValue):
        return False
    return None
