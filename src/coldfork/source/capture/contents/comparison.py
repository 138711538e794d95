"""What is known of comparisons in code around and inside a capture."""

from __future__ import annotations

import ast

from coldfork.source.capture.names import Names
from coldfork.source.capture.objects import SOME_CALL, Object, Value
from coldfork.source.semantics import constants
from coldfork.source.semantics.builtin_types import CONTAINERS, any_of, belongs
from coldfork.source.values.kinds import ClassRef, Const, External

#: Names of torch for what has another name too.
_ALIASES = frozenset(
    {
        "bit",
        "cdouble",
        "cfloat",
        "chalf",
        "double",
        "float",
        "half",
        "int",
        "legacy_contiguous_format",
        "long",
        "short",
    }
)


def compared(first: Value, operator: str, second: Value) -> bool | None:
    """What comparing two values gives, if that is known."""
    if operator not in ("is", "is not") or isinstance(second, Const):
        left, right = plain(first), plain(second)
        if left is not None and right is not None:
            return constants.compare(operator, left.value, right.value)
    same: bool | None = None
    if isinstance(first, External) and isinstance(second, External):
        (root, _, name), (other, _, second_name) = first.name.rpartition("."), second.name.rpartition(".")
        if first == second:
            same = True
        elif root == other and _ALIASES.isdisjoint((name, second_name)):
            # What a class names are members of an enumeration; a module may have two names for one thing.
            same = False if root.startswith("torch") or root.rpartition(".")[2][:1].isupper() else None
    elif first is second and type(first) is Object and first.tensor is None:
        same = True
    elif operator in ("is", "is not") and (_is_new(first) or _is_new(second)):
        same = False
    elif second == Const(None) and operator in ("is", "is not"):
        same = is_none(first)
    elif _is_tensor(first) and isinstance(second, Const) and isinstance(second.value, str):
        same = False
    if same is None or operator not in ("is", "is not", "==", "!="):
        return None
    return same if operator in ("is", "==") else not same


def plain(value: Value) -> Const | None:
    """A value as the constant that it is; None where it is more than constants, or not all of it is known."""
    if isinstance(value, Const):
        return value
    if type(value) is not Object or value.keys is None:
        return None
    parts = [plain(value.parts[key]) for key in value.keys]
    if value.kind != "dict":
        return constants.container(value.kind, parts)
    try:
        keys = [Const(ast.literal_eval(key)[0]) for key in value.keys]
    except (ValueError, SyntaxError):  # such as `[nan]`
        return None
    return constants.dictionary(keys, parts)


def _is_new(value: Value) -> bool:
    """True for what was computed or made here, so that it is nothing else."""
    return type(value) is Object and not value.before and (value.cls is not None or value.tensor is not None)


def _is_tensor(value: Value) -> bool:
    return type(value) is Object and value.tensor is not None


def is_none(value: Value) -> bool | None:
    """Whether a value is None, if that is known."""
    if type(value) is Object:
        computed = value.tensor is not None and not value.before
        known = (
            computed
            or value.present
            or value.made_by == SOME_CALL
            or value.made_by.startswith(("torch.", "weakref."))
        )
        return False if known or value.cls is not None else None
    return False


def instance_of(names: Names, value: Value, kind: Value) -> bool | None:
    """Whether a value is an object of a class, if that is known."""
    if type(kind) is Object:
        kinds = kind.elements()
        return any_of([instance_of(names, value, one) for one in kinds]) if kinds is not None else None
    if isinstance(value, Const):
        return _belongs(type(value.value), kind)
    if type(value) is not Object:
        return None
    if value.tensor is not None:
        return True if kind == External("torch.Tensor") else False if isinstance(kind, ClassRef) else None
    if value.kind in CONTAINERS:
        return _belongs(CONTAINERS[value.kind], kind)
    if value.cls is None:
        return None
    order = names.order(value.cls)
    if kind in order:
        return True
    ours = isinstance(kind, ClassRef) and all(isinstance(one, ClassRef) for one in order)
    return False if ours and not value.before else None


def _belongs(own: type, kind: Value) -> bool | None:
    if isinstance(kind, ClassRef):
        return False
    return belongs(own, kind.name) if isinstance(kind, External) else None
