"""The Python values that a forward function can reach, each with its path."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch

_LEAVES = (int, float, complex, bool, str, bytes, type(None), type, ModuleType, BuiltinFunctionType)
_OTHERS = ("coldfork", "logging", "threading", "_thread", "multiprocessing", "asyncio")
_DEPTH = 12
_LIMIT = 50_000
"""The most values that are visited; further ones are not seen."""


class Spot(NamedTuple):
    """One value, the object that holds it, and its key or name in that object."""

    path: str
    holder: Any
    key: Any
    value: Any


def spots(roots: Mapping[str, Any]) -> Iterator[Spot]:
    """Yield every value that can be reached from some named objects, visiting each holder once."""
    seen = set[int]()
    waiting = deque((name, value, 0) for name, value in roots.items())
    count = 0
    while waiting and count < _LIMIT:
        path, holder, depth = waiting.popleft()
        if id(holder) in seen or depth > _DEPTH or is_leaf(holder):
            continue
        seen.add(id(holder))
        for where, key, value in _parts(holder):
            count += 1
            # The state itself has an empty path, so the paths of its values have no leading dot.
            inner = f"{path}{where}" if path else where.removeprefix(".")
            yield Spot(inner, holder, key, value)
            waiting.append((inner, value, depth + 1))


def roots_of(forward: Any, state: Any) -> dict[str, Any]:
    """Return the objects that a forward function uses, by the names that its source gives them."""
    found: dict[str, Any] = {"": state}
    _add_roots(forward, found)
    return found


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(value, torch.Tensor)


def is_leaf(value: Any) -> bool:
    """Return whether a value has no parts to visit."""
    if isinstance(value, _LEAVES) or is_tensor(value):
        return True
    top = type(value).__module__.partition(".")[0]
    # Of torch, only modules belong to the program, not graphs, streams and pools, and not even coldfork's.
    return top in _OTHERS or (top == "torch" and not isinstance(value, torch.nn.Module | Mapping))


def _add_roots(function: Any, found: dict[str, Any]) -> None:
    if isinstance(function, partial):
        _add_roots(function.func, found)
        found.update({f"argument {number}": value for number, value in enumerate(function.args)})
        found.update(function.keywords)
    elif isinstance(function, MethodType):
        found["self"] = function.__self__
        _add_roots(function.__func__, found)
    elif isinstance(function, FunctionType):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = _content(cell)
            if not isinstance(value, FunctionType | MethodType | partial):
                found.setdefault(name, value)
            elif value is not function and name not in found:
                found[name] = None
                _add_roots(value, found)
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if value is not None and not is_leaf(value) and not callable(value):
                found.setdefault(name, value)
    else:
        found["self"] = function
        call = vars(type(function)).get("__call__")
        if isinstance(call, FunctionType):
            _add_roots(call, found)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _parts(holder: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(holder, Mapping):
        for key, value in list(holder.items()):
            yield f"[{key!r}]", key, value
        return
    if isinstance(holder, tuple) and hasattr(holder, "_fields"):
        for name in holder._fields:
            yield f".{name}", name, getattr(holder, name)
        return
    if isinstance(holder, list | tuple):
        for number, value in enumerate(holder):
            yield f"[{number}]", number, value
        return
    if isinstance(holder, FunctionType | MethodType | partial):
        inner: dict[str, Any] = {}
        _add_roots(holder, inner)
        yield from ((f".{name}", name, value) for name, value in inner.items())
        return
    yield from _attributes(holder)


def _attributes(holder: Any) -> Iterator[tuple[str, Any, Any]]:
    own = getattr(holder, "__dict__", None)
    for name, value in list(own.items()) if isinstance(own, dict) else ():
        if name in ("_parameters", "_buffers", "_modules"):
            # A torch module shows its parameters, buffers and submodules as attributes.
            yield from ((f".{inner}", inner, one) for inner, one in value.items() if one is not None)
        elif not name.startswith("_backward_") and not name.endswith("_hooks"):
            yield f".{name}", name, value
    for name in _slots(type(holder)):
        value = getattr(holder, name, None)
        if value is not None:
            yield f".{name}", name, value


def _slots(kind: type) -> list[str]:
    if (kind.__module__ or "").partition(".")[0] in ("builtins", "torch", "threading", "_thread"):
        return []
    names: list[str] = []
    for base in kind.__mro__:
        declared = vars(base).get("__slots__", ())
        names += [declared] if isinstance(declared, str) else list(declared)
    return [name for name in names if not name.startswith("__")]


def own_of(holder: Any) -> dict[str, Any]:
    """Return an object's own attributes, without running code of the program."""
    try:
        own = object.__getattribute__(holder, "__dict__")
    except Exception:  # a class that overrides access to its attributes may raise any error
        return {}
    return own if type(own) is dict else {}
