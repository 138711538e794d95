"""Read the constants that a function may use: those of modules, classes, its object and its closure.

Their present values decide what the function will do in a child: a module's variable may have been set to
another device since the import. Objects are not inspected, but passed on as unknown.
"""

from __future__ import annotations

import os
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Given = dict[str, Any]

_CONSTANTS = (bool, int, float, str, type(None))
_LONGEST = 200
_MOST_ITEMS = 16
_UNBOUNDED = 2**31 - 1
"""The most items in a queue of multiprocessing without a given size."""
_FOREIGN = sys.stdlib_module_names - {"__main__"} | {"torch"}
_DEFINED = (FunctionType, BuiltinFunctionType, ModuleType, type)
"""Kinds of values that the source shows, unless another value has been assigned to the name."""
_OF_CLASSES = (*_DEFINED, classmethod, staticmethod, property)


def of_modules(modules: Iterable[ModuleType]) -> tuple[dict[str, Given], dict[str, dict[str, Given]]]:
    """Return the variables of modules, and those of the classes that they define."""
    values: dict[str, Given] = {}
    classes: dict[str, dict[str, Given]] = {}
    for module in modules:
        name = module.__name__
        held = dict(vars(module))
        values[name] = {
            variable: as_given(value)
            for variable, value in held.items()
            if not variable.startswith("__") and not _as_defined(value, name)
        }
        classes[name] = {
            value.__qualname__: _of_class(value)
            for value in held.values()
            if isinstance(value, type) and value.__module__ == name and not hasattr(value, "__members__")
        }
    return values, classes


def of_object(thing: object) -> Given:
    """Return the attributes in an object's own dictionary."""
    held = getattr(thing, "__dict__", None)
    return {name: as_given(value) for name, value in held.items()} if isinstance(held, dict) else {}


def of_closure(function: FunctionType, depth: int = 2) -> Given:
    """Return the variables of the functions that enclose a function."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {name: _content(cell, depth) for name, cell in cells if name != "__class__"}


def as_given(value: object) -> Any:
    """Return the description of a constant, or of an object by its standard class; None for all others."""
    kind = type(value)
    if kind in _CONSTANTS:
        return {"is": value} if len(str(value)) <= _LONGEST else None
    if (kind.__module__, kind.__name__) == ("torch", "device"):
        return {"device": str(value)}
    if kind.__module__ == "torch.multiprocessing.queue":
        kind = kind.__mro__[1]
    top = kind.__module__.partition(".")[0]
    if top == "builtins" or top not in sys.stdlib_module_names or callable(value) or _is_bounded(value):
        return None
    return {"of": f"{kind.__module__}.{kind.__qualname__}"}


def as_argument(value: object, depth: int = 2) -> Any:
    """Return the description of an argument: a number by its sign, a container by its items, or an object.

    With exact values, which differ between workers, there would be a question for each worker.
    """
    if type(value) is int and value >= 0:
        return {"natural": True}
    if isinstance(value, FunctionType):
        return _as_function(value, depth)
    if not depth:
        return as_given(value)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list) and len(value) <= _MOST_ITEMS:
        return {"items": [as_argument(one, depth - 1) for one in value], "kind": type(value).__name__}
    if type(value) is dict and len(value) <= _MOST_ITEMS and all(type(key) is str for key in value):
        return {"entries": {key: as_argument(one, depth - 1) for key, one in value.items()}}
    kind = type(value)
    at_home = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind
    if at_home and kind.__module__.partition(".")[0] not in _FOREIGN and not isinstance(value, type):
        return {"object": [kind.__module__, kind.__qualname__], "holds": of_object(value)}
    return as_given(value)


def _as_function(function: FunctionType, depth: int) -> Any:
    """Return the description of one of the program's functions, so that calls of it can be followed."""
    if not depth or function.__module__.partition(".")[0] in _FOREIGN:
        return None
    code = function.__code__
    return {
        "function": [function.__module__, code.co_qualname],
        "line": code.co_firstlineno,
        "code": code.co_code.hex(),
        "closure": of_closure(function, depth - 1),
    }


def _is_bounded(value: object) -> bool:
    """Return whether this is a queue of limited size."""
    held = getattr(value, "__dict__", None)
    sizes = [held.get(name) for name in ("_maxsize", "maxsize")] if isinstance(held, dict) else []
    return any(type(size) is int and 0 < size < _UNBOUNDED for size in sizes)


def loaded_from(folders: Iterable[str], tops: Iterable[str]) -> list[ModuleType]:
    """Return the modules that this process loaded from these folders or as parts of these packages."""
    places = tuple(os.path.join(folder, "") for folder in folders)
    packages = frozenset(tops)
    found = []
    loaded: tuple[tuple[str, object], ...] = tuple(sys.modules.items())
    for name, module in loaded:
        # `sys.modules` may hold any object, and the same module twice.
        if not isinstance(module, ModuleType) or module.__name__ != name:
            continue
        file = vars(module).get("__file__")
        if not isinstance(file, str):
            continue
        installed = "site-packages" in file or "dist-packages" in file
        if name.partition(".")[0] in packages or (not installed and os.path.abspath(file).startswith(places)):
            found.append(module)
    return found


def is_replaced(dotted: str, owners: Mapping[str, str]) -> bool:
    """Return whether the program has replaced a library's function, as tests do."""
    first, *others = dotted.split(".")
    at: Any = sys.modules.get(first)
    for name in others:
        at = getattr(at, "__dict__", {}).get(name, getattr(at, name, None))
    home = getattr(at, "__module__", None)
    return isinstance(at, FunctionType) and str(home).partition(".")[0] not in owners


def _of_class(cls: type) -> Given:
    return {
        name: as_given(value)
        for name, value in vars(cls).items()
        if not name.startswith("__") and not isinstance(value, _OF_CLASSES) and not hasattr(value, "__get__")
    }


def _as_defined(value: object, module: str) -> bool:
    """Return whether this is still the class or function that the source defines under its name."""
    if not isinstance(value, _DEFINED):
        return False
    if not isinstance(value, FunctionType) or value.__module__ == module:
        return True
    at: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        at = getattr(at, "__dict__", {}).get(name)
    return at is value


def _content(cell: Any, depth: int) -> Any:
    try:
        held = cell.cell_contents
    except ValueError:
        return None
    return _as_function(held, depth) if isinstance(held, FunctionType) else as_given(held)
