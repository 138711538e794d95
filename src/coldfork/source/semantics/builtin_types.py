"""Which classes of Python's own an object belongs to: CPython is asked."""

from __future__ import annotations

import builtins
import collections.abc
import numbers
import sys
import types
import typing
from types import ModuleType

_MODULES: dict[str, ModuleType] = {
    "": builtins,
    "builtins": builtins,
    "collections.abc": collections.abc,
    "numbers": numbers,
    "types": types,
    "typing": typing,
}
#: The classes of the containers that a display makes.
CONTAINERS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "dict": dict}


def belongs(own: type, name: str) -> bool | None:
    """Whether an object of one class is an object of another, by its dotted name; None for a foreign one."""
    parent, _, last = name.rpartition(".")
    module = _MODULES.get(parent)
    if module is None:
        return False if _is_class_of_a_library(name) else None
    try:
        return issubclass(own, getattr(module, last))
    except (AttributeError, TypeError):  # no such name, or no class
        return None


def _is_class_of_a_library(name: str) -> bool:
    """Whether a dotted name looks like a class elsewhere to which nothing of Python's own belongs.

    Names that Python gives to its abstract classes, and those of unions such as `ArrayLike`, say nothing.
    """
    top, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if not last[:1].isupper() or last.isupper() or top in sys.stdlib_module_names or "(" in name:
        return False
    return not (
        last.endswith(("Like", "Type", "Types")) or any(hasattr(one, last) for one in _MODULES.values())
    )


def any_of(outcomes: list[bool | None]) -> bool | None:
    """Whether one of several holds, if that is known."""
    return True if True in outcomes else None if None in outcomes else False
