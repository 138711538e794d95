"""Type variables as what they are made of, for pickles: `typing` itself pickles them by name alone."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS = frozenset(("NewType", "ParamSpec", "TypeAliasType", "TypeVar", "TypeVarTuple"))


def is_type_variable(value: object) -> bool:
    """Whether it is what `typing` finds again by its identity."""
    kind = type(value)
    return kind.__module__ == "typing" and kind.__name__ in _KINDS


def has_identity(value: object) -> bool:
    """Whether it can be known again; an alias is as good as another that means the same."""
    return type(value).__name__ != "TypeAliasType"


def described(value: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any], str]:
    """The type of a type variable, what it is called with, and the module that it belongs to."""
    kind = type(value)
    arguments: tuple[Any, ...] = (value.__name__,)
    options: dict[str, Any] = {}
    if kind.__name__ == "NewType":
        arguments = (value.__name__, value.__supertype__)
    elif kind.__name__ == "TypeAliasType":
        arguments = (value.__name__, value.__value__)
        options["type_params"] = value.__type_params__
    elif kind.__name__ == "TypeVar":
        arguments = (value.__name__, *value.__constraints__)
        options.update(_variance(value))
        if value.__bound__ is not None:
            options["bound"] = value.__bound__
    elif kind.__name__ == "ParamSpec":
        options.update(_variance(value))
    if sys.version_info >= (3, 13) and hasattr(value, "has_default") and value.has_default():
        options["default"] = value.__default__
    return kind, arguments, options, value.__module__


def _variance(value: Any) -> dict[str, bool]:
    options = ("covariant", "contravariant", "infer_variance")
    return {name: True for name in options if getattr(value, f"__{name}__", False)}
