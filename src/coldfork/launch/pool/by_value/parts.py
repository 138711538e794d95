"""Decide which parts of functions, classes and other objects travel, and which ones every process already
has.
"""

from __future__ import annotations

import builtins
import sys
import types
from functools import lru_cache
from opcode import EXTENDED_ARG, opmap
from types import CellType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Names = frozenset[str]

MAINS = frozenset(("__main__", "__mp_main__"))
"""The names of the main module: Python's, and that of multiprocessing's copy of it."""
_NOT_COPIED = frozenset(("__dict__", "__slots__", "__weakref__", "_abc_impl", "__annotations_cache__"))
"""Attributes that every class gets when it is made."""
_ANNOTATIONS = "__annotate__" if sys.version_info >= (3, 14) else "__annotations__"
_OF_FUNCTIONS = ("__defaults__", "__doc__", "__kwdefaults__", "__type_params__", _ANNOTATIONS)
_TYPE_VARIABLES = frozenset(("NewType", "ParamSpec", "TypeAliasType", "TypeVar", "TypeVarTuple"))
_VARIANCE = ("covariant", "contravariant", "infer_variance")

_SHIFTED = opmap["LOAD_GLOBAL"]
_READING = frozenset(opmap[name] for name in ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") if name in opmap)
_ASSIGNING = frozenset((opmap["STORE_GLOBAL"], opmap["DELETE_GLOBAL"]))


# --- names --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def names_in(code: CodeType) -> tuple[Names, Names, Names]:
    """Return the globals read, the globals assigned, and all names, in a function's code and any code inside.

    A class body's own names count as read globals, because it looks up both in the same way. Only names in a
    `global` statement count as assigned.
    """
    used: set[str] = set()
    assigned: set[str] = set()
    names, units, extended = code.co_names, code.co_code, 0
    for operation, argument in zip(units[::2], units[1::2], strict=True):
        argument |= extended
        extended = argument << 8 if operation == EXTENDED_ARG else 0
        if operation == _SHIFTED:
            used.add(names[argument >> 1])
        elif operation in _READING:
            used.add(names[argument])
        elif operation in _ASSIGNING:
            assigned.add(names[argument])
    inside = [names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    own = (frozenset(used), frozenset(assigned), frozenset(names))
    read, written, words = (frozenset().union(*each) for each in zip(own, *inside, strict=True))
    return read, written, words


def imported_parts(package: str, words: Names) -> Iterator[str]:
    """Yield the imported submodules of a package that code may refer to as `package.part`."""
    for word in words:
        name = f"{package}.{word}"
        if name in sys.modules:
            yield name
            yield from imported_parts(name, words)


def can_be_imported(module: ModuleType) -> bool:
    """Return whether a module was loaded by an import, and was not created while the program ran."""
    return getattr(module, "__spec__", None) is not None or getattr(module, "__file__", None) is not None


def is_found_by_name(thing: Any, module: object) -> bool:
    """Return whether importing this module yields this very object under its qualified name."""
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    if found is None or not (module in MAINS or can_be_imported(found)):
        return False
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
        if found is None:
            return False
    return found is thing


def has_content(cell: CellType) -> bool:
    """Return whether a variable of an enclosing function has a value yet."""
    # Compare with an empty cell: only another empty cell equals it.
    return cell != CellType()


# --- attributes ---------------------------------------------------------------------------------------------


def attributes_of(function: FunctionType) -> dict[str, Any]:
    """Return the attributes to set on a function's copy, apart from those in `__dict__`."""
    given = {name: getattr(function, name, None) for name in _OF_FUNCTIONS}
    named = {"__module__": function.__module__, "__qualname__": function.__qualname__}
    return {**named, **{name: value for name, value in given.items() if value}}


def attributes_of_class(value: type) -> dict[str, Any]:
    """Return the attributes to set on a class's copy, without those that creating the class sets."""
    attributes = {}
    for name, item in value.__dict__.items():
        is_slot = type(item) in (GetSetDescriptorType, MemberDescriptorType) and item.__objclass__ is value
        if name in _NOT_COPIED or is_slot:
            continue
        if name == "__annotate_func__":
            name, item = "__annotate__", value.__annotate__  # type: ignore[attr-defined]
        elif name == "_value2member_map_":
            members = value.__dict__["_member_map_"]
            item = {key: member for key, member in item.items() if member.name in members}
        attributes[name] = item
    return attributes


def builtin_type(value: type) -> Any:
    """Return how one of the interpreter's own types travels: some, like `function`, are not found in
    `builtins`.
    """
    if value.__module__ == "builtins" and getattr(builtins, value.__name__, None) is not value:
        for name, item in vars(types).items():
            if item is value:
                return getattr, (types, name)
    return NotImplemented


def sentinel_of_dataclasses(value: object) -> Any:
    """Return the name of a sentinel of `dataclasses`: for a missing default, or for a kind of field."""
    named = vars(sys.modules["dataclasses"]).items()
    return next((name for name, item in named if item is value), NotImplemented)


def is_type_variable(value: object) -> bool:
    """Return whether a value is a type variable or alias of `typing`, which pickling by name would lose."""
    kind = type(value)
    return kind.__module__ == "typing" and kind.__name__ in _TYPE_VARIABLES


def described(value: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any], str]:
    """Return a type variable's type, the arguments and options to call it with, and its module."""
    kind = type(value)
    arguments: tuple[Any, ...] = (value.__name__,)
    options: dict[str, Any] = {}
    if kind.__name__ in ("ParamSpec", "TypeVar"):
        options = {name: True for name in _VARIANCE if getattr(value, f"__{name}__", False)}
    if kind.__name__ == "NewType":
        arguments += (value.__supertype__,)
    elif kind.__name__ == "TypeAliasType":
        arguments += (value.__value__,)
        options["type_params"] = value.__type_params__
    elif kind.__name__ == "TypeVar":
        arguments += value.__constraints__
        if value.__bound__ is not None:
            options["bound"] = value.__bound__
    if sys.version_info >= (3, 13) and hasattr(value, "has_default") and value.has_default():
        options["default"] = value.__default__
    return kind, arguments, options, value.__module__
