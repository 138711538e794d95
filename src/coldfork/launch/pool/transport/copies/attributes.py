"""What functions and classes have that their copies are given, and what every process has for itself."""

from __future__ import annotations

import builtins
import os
import sys
import types
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType

from coldfork.launch.pool.transport.copies.arrivals import fixture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NOT_COPIED = frozenset(("__dict__", "__slots__", "__weakref__", "_abc_impl", "__annotations_cache__"))
"""What a class gets anew when it is made."""
_LAZY_ANNOTATIONS = sys.version_info >= (3, 14)


def attributes_of(function: FunctionType) -> dict[str, Any]:
    """What is set on the copy of a function, beside its own `__dict__`."""
    attributes: dict[str, Any] = {"__module__": function.__module__, "__qualname__": function.__qualname__}
    for name in ("__defaults__", "__doc__", "__kwdefaults__", "__type_params__"):
        value = getattr(function, name, None)
        if value:
            attributes[name] = value
    annotations = "__annotate__" if _LAZY_ANNOTATIONS else "__annotations__"
    value = getattr(function, annotations)
    if value:
        attributes[annotations] = value
    return attributes


def attributes_of_class(value: type) -> dict[str, Any]:
    """What is set on the copy of a class: all that it does not have from being made."""
    attributes = {}
    for name, item in value.__dict__.items():
        if name in _NOT_COPIED or _is_slot(item, value):
            continue
        if name == "__annotate_func__":
            name, item = "__annotate__", value.__annotate__  # type: ignore[attr-defined]
        elif name == "_value2member_map_":
            members = value.__dict__["_member_map_"]
            item = {key: member for key, member in item.items() if member.name in members}
        attributes[name] = item
    return attributes


def _is_slot(item: Any, owner: type) -> bool:
    if type(item) not in (GetSetDescriptorType, MemberDescriptorType):
        return False
    return item.__objclass__ is owner


def builtin_type(value: type) -> Any:
    """How a type of the interpreter travels: some, like `function`, are not in `builtins` as they say."""
    if value.__module__ == "builtins" and getattr(builtins, value.__name__, None) is not value:
        for name, item in vars(types).items():
            if item is value:
                return fixture, ("types", name)
    return NotImplemented


def sentinel_of_dataclasses(value: object) -> Any:
    """The names by which fields know that they have no default, and of which kind they are."""
    for name, item in vars(sys.modules["dataclasses"]).items():
        if item is value:
            return name
    return NotImplemented


def fixtures() -> dict[int, tuple[str, str]]:
    """What every process has one of, by identity, and where it is found."""
    return {
        id(sys.stdin): ("sys", "stdin"),
        id(sys.stdout): ("sys", "stdout"),
        id(sys.stderr): ("sys", "stderr"),
        id(os.environ): ("os", "environ"),
    }
