"""Which classes of Python's own an object belongs to: CPython is asked."""

from __future__ import annotations

import builtins
import collections.abc
import numbers
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
    try:
        return issubclass(own, getattr(module, last)) if module is not None else None
    except (AttributeError, TypeError):  # no such name, or no class
        return None


def any_of(outcomes: list[bool | None]) -> bool | None:
    """Whether one of several holds, if that is known."""
    return True if True in outcomes else None if None in outcomes else False
