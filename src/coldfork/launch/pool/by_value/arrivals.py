"""Rebuild functions and classes that arrive as copies from another process."""

from __future__ import annotations

import abc
import builtins
import importlib
import os
import pickle
import sys
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from types import CellType, CodeType, FunctionType
from weakref import WeakKeyDictionary, WeakValueDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Globals = dict[str, Any]

_MISSING = object()
_SIMPLE = (bool, bytes, complex, float, int, str, type(None))


def is_simple(value: object) -> bool:
    """Return whether comparing a value is cheap and runs no foreign code."""
    return type(value) in _SIMPLE


def _is_same(value: object, other: object) -> bool:
    return is_simple(value) and type(value) is type(other) and value == other


# --- identity -----------------------------------------------------------------------------------------------


class Origins:
    """The classes and type variables that travel by value, from or to this process."""

    def __init__(self) -> None:
        self._identities: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._by_identity: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._received: WeakKeyDictionary[Any, Globals | None] = WeakKeyDictionary()
        """The plain attribute values that each copy last received; None before any came."""

    def identity(self, thing: Any) -> str:
        """Return the name under which all processes know `thing`."""
        known = self._identities.get(thing)
        return self._called(thing, os.urandom(12).hex()) if known is None else known

    def _called(self, thing: Any, identity: str) -> str:
        self._identities[thing] = identity
        self._by_identity[identity] = thing
        return identity

    def known(self, identity: str) -> Any:
        """Return this process's object with this identity, or None."""
        return self._by_identity.get(identity)

    def came(self, identity: str, thing: Any) -> None:
        """Remember `thing` as this process's copy of another process's object with this identity."""
        self._called(thing, identity)
        self._received[thing] = None

    def is_copy(self, thing: Any) -> bool:
        """Return whether `thing` came from another process."""
        return thing in self._received

    def news(self, copy: Any, attributes: Globals) -> tuple[Globals, set[str], bool]:
        """Return the attributes to set and to delete on a copy to match its original, and whether it is new.

        A plain value that the original has not changed is left alone: the copy may have changed it meanwhile,
        as a class does that loads a model once and keeps it.
        """
        before = self._received[copy]
        self._received[copy] = {name: v if is_simple(v) else _MISSING for name, v in attributes.items()}
        if before is None:
            return attributes, set(), True
        fresh = {name: v for name, v in attributes.items() if not _is_same(v, before.get(name, _MISSING))}
        return fresh, before.keys() - attributes.keys(), False


class Legacy:
    """Globals that functions of another process's main module have assigned here, kept for later calls.

    Each call brings the globals that it needs, and so sees the sender's present values. But a variable that
    an earlier call assigned with a `global` statement (`global model; model = load()`) is kept, and later
    calls find it.
    """

    def __init__(self) -> None:
        self._homes: dict[str, Globals] = {}
        """For each assigned name, the globals of the latest call that assigns it."""
        self._sent: Globals = {}

    def settle(self, target: Globals, sent: Globals, used: frozenset[str], assigned: frozenset[str]) -> None:
        """Fill the globals of one call with the sender's values and those that earlier calls assigned."""
        for name in used | assigned:
            home = self._homes.get(name, {})
            is_old = name not in sent or _is_same(sent[name], self._sent.get(name, _MISSING))
            if is_old and name in home and name not in target:
                target[name] = home[name]
        for name, value in sent.items():
            target.setdefault(name, value)
        for name in used | assigned:
            if is_simple(sent.get(name, _MISSING)):
                self._sent[name] = sent[name]
            else:
                self._sent.pop(name, None)
        for name in assigned:
            self._homes[name] = target


@cache
def origins() -> Origins:
    """Return the origins of this process."""
    return Origins()


@cache
def _legacy(_sender: str) -> Legacy:
    """Return the globals that functions of this sender's main module have assigned here."""
    return Legacy()


def main_module() -> Globals:
    """Return the variables of this process's main module."""
    module = sys.modules.get("__main__")
    return {} if module is None else vars(module)


# --- functions ----------------------------------------------------------------------------------------------


def make_cell() -> CellType:
    """Make a variable of an enclosing function, with no value yet."""
    return CellType()


def imported_globals(module: str) -> Globals:
    """Return the globals of a module that this process can import."""
    return vars(importlib.import_module(module))


def own_globals(module: str, package: str | None) -> Globals:
    """Return new globals, shared by the functions of one pickle that were defined in the same module."""
    return {"__name__": module, "__package__": package, "__builtins__": builtins}


def make_function(code: CodeType, namespace: Globals, name: str, cells: tuple[CellType, ...]) -> FunctionType:
    """Make a function without the objects it refers to, which may in turn refer to the function."""
    return FunctionType(code, namespace, name, None, cells or None)


def fill_function(function: FunctionType, state: tuple[Any, ...]) -> None:
    """Give a function its globals, enclosing variables and attributes."""
    sender, by_name, sent, used, assigned, modules, cells, attributes, own = state
    for module in modules:
        importlib.import_module(module)
    namespace = function.__globals__
    if sender is None:
        namespace.update(sent)
    else:
        _legacy(sender).settle(namespace, sent, used, assigned)
    if by_name:  # an initializer may have added the name to the main module here
        main = main_module()
        for name in used & main.keys() - namespace.keys():
            namespace[name] = main[name]
    for cell, content in cells:
        cell.cell_contents = content
    for name, value in attributes.items():
        setattr(function, name, value)
    function.__dict__.update(own)


def fill_attributes(thing: Any, attributes: dict[str, Any]) -> None:
    """Set an object's own attributes, bypassing its class's `__setattr__`."""
    thing.__dict__.update(attributes)


def make_lru_cache(function: Any, maximum: int | None, typed: bool) -> Any:
    """Wrap a function in an empty `lru_cache` of the original's size."""
    return lru_cache(maxsize=maximum, typed=typed)(function)


# --- classes ------------------------------------------------------------------------------------------------


def make_class(
    identity: str, metaclass: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
) -> type:
    """Return the class with this identity, or make it, with no attributes yet.

    Neither its metaclass nor its bases run any code: the original's attributes already contain their effects.
    """
    found: type | None = origins().known(identity)
    if found is not None:
        return found
    with _without_hooks(bases):
        make: Any = abc.ABCMeta.__new__ if issubclass(metaclass, abc.ABCMeta) else type.__new__
        made: type = make(metaclass, name, bases, dict(namespace))
    origins().came(identity, made)
    return made


def fill_class(made: type, state: tuple[dict[str, Any], Sequence[type]]) -> None:
    """Update a copy with the original's present attributes; an original that returns to its process keeps its
    own.
    """
    if not origins().is_copy(made):
        return
    attributes, registered = state
    fresh, gone, is_new = origins().news(made, attributes)
    _set_attributes(made, fresh)
    for name in gone & made.__dict__.keys():
        type.__delattr__(made, name)
    for subclass in registered:
        made.register(subclass)  # type: ignore[attr-defined]
    if is_new and _tell_importable_base(made):
        _set_attributes(made, fresh)


def known_class(identity: str, name: str) -> Any:
    """Return this process's own class, whose copy another process has sent back."""
    found = origins().known(identity)
    if found is None:
        raise pickle.UnpicklingError(
            f"{name} came from another process as a copy of a class that this process does not have, "
            "or no longer has"
        )
    return found


def make_tuple(kind: type[tuple[Any, ...]], content: tuple[Any, ...]) -> Any:
    """Make a named tuple even if its class is still incomplete."""
    return tuple.__new__(kind, content)


def make_member(enumeration: type, name: str, arguments: tuple[Any, ...]) -> Any:
    """Return the enumeration's member: the existing one, or a new one without attributes."""
    members = enumeration.__dict__.get("_member_map_", {})
    if name in members:
        return members[name]
    maker = next(base for base in enumeration.__mro__ if base is object or not hasattr(base, "_member_map_"))
    return maker.__new__(enumeration, *arguments)


def make_type_variable(
    identity: str | None, kind: Any, arguments: tuple[Any, ...], options: dict[str, Any], module: str
) -> Any:
    """Return the type variable with this identity, or make it."""
    if identity is None:
        return kind(*arguments, **options)
    found = origins().known(identity)
    if found is None:
        found = kind(*arguments, **options)
        found.__module__ = module
        origins().came(identity, found)
    return found


def _set_attributes(made: type, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        type.__setattr__(made, name, value)


@contextmanager
def _without_hooks(bases: tuple[type, ...]) -> Iterator[None]:
    """Suppress `__init_subclass__` while a class still lacks its attributes and keyword arguments."""
    hooks = {c: c.__dict__["__init_subclass__"] for base in bases for c in base.__mro__ if _has_hook(c)}
    for owner in hooks:
        type.__setattr__(owner, "__init_subclass__", classmethod(lambda made, **keywords: None))
    try:
        yield
    finally:
        for owner, hook in hooks.items():
            type.__setattr__(owner, "__init_subclass__", hook)


def _has_hook(owner: type) -> bool:
    return owner is not object and "__init_subclass__" in owner.__dict__


def _tell_importable_base(made: type) -> bool:
    """Announce a new subclass to its importable base, which may keep a registry of subclasses."""
    owner = next((c for c in made.__mro__[1:] if _has_hook(c)), None)
    if owner is None or owner.__module__ in ("typing", "typing_extensions") or origins().is_copy(owner):
        return False
    # `__init_subclass__` may need keyword arguments that only the `class` statement had
    with suppress(Exception):
        super(made, made).__init_subclass__()  # type: ignore[arg-type]
    return True
