"""What is known of comparisons in code around and inside a capture."""

from __future__ import annotations

import builtins

from coldfork.source.capture.names import Names
from coldfork.source.capture.objects import SOME_CALL, Object, Value
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
    same: bool | None = None
    if isinstance(first, Const) and isinstance(second, Const):
        same = bool(first.value == second.value)
        if operator.startswith("is"):
            same = same and type(first.value) is type(second.value)
    elif isinstance(first, External) and isinstance(second, External):
        (root, _, name), (other, _, second_name) = first.name.rpartition("."), second.name.rpartition(".")
        if first == second:
            same = True
        elif root == other and _ALIASES.isdisjoint((name, second_name)):
            # What a class names are members of an enumeration; a module may have two names for one thing.
            same = False if root.startswith("torch") or root.rpartition(".")[2][:1].isupper() else None
    elif second == Const(None) and operator in ("is", "is not"):
        same = is_none(first)
    elif _is_tensor(first) and isinstance(second, Const) and isinstance(second.value, str):
        same = False
    if same is None or operator not in ("is", "is not", "==", "!="):
        return None
    return same if operator in ("is", "==") else not same


def _is_tensor(value: Value) -> bool:
    return type(value) is Object and value.tensor is not None


def is_none(value: Value) -> bool | None:
    """Whether a value is None, if that is known."""
    if type(value) is Object:
        known = value.present or value.made_by == SOME_CALL or value.made_by.startswith("torch.")
        return False if known or value.cls is not None else None
    return False


def instance_of(names: Names, value: Value, kind: Value) -> bool | None:
    """Whether a value is an object of a class, if that is known."""
    if isinstance(value, Const):
        return _constant_is(value.value, kind)
    if type(value) is not Object:
        return None
    if value.tensor is not None:
        return True if kind == External("torch.Tensor") else False if isinstance(kind, ClassRef) else None
    if value.kind:
        name = kind.name if isinstance(kind, External) else ""
        return name == value.kind if hasattr(builtins, name) and name != "object" else None
    if value.cls is None:
        return None
    order = names.order(value.cls)
    if kind in order:
        return True
    ours = isinstance(kind, ClassRef) and all(isinstance(one, ClassRef) for one in order)
    return False if ours and not value.before else None


def _constant_is(value: object, kind: Value) -> bool | None:
    if isinstance(kind, ClassRef):
        return False
    known = getattr(builtins, kind.name, None) if isinstance(kind, External) else None
    return isinstance(value, known) if isinstance(known, type) else None
