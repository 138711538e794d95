"""What a pickle of `by_value` calls where it is loaded: it makes the copies of functions and classes."""

from __future__ import annotations

import abc
import builtins
import importlib
import marshal
import sys
from contextlib import contextmanager
from types import CellType, CodeType, FunctionType

from coldfork.launch.pool.transport.copies.origins import main_module, origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Globals = dict[str, Any]

# --- functions --------------------------------------------------------------------------------------------


def make_code(marshalled: bytes) -> CodeType:
    """The code of a function."""
    code: CodeType = marshal.loads(marshalled)
    return code


def make_cell() -> CellType:
    """A variable of an enclosing function, empty still."""
    return CellType()


def fill_cell(cell: CellType, content: Any) -> None:
    """Give a variable its value."""
    cell.cell_contents = content


def itself(value: Any) -> Any:
    """What it is given: the same variable, met on its own and as part of a function."""
    return value


def imported_globals(module: str) -> Globals:
    """The globals of a module that this process can import."""
    return vars(importlib.import_module(module))


def own_globals(module: str, package: str | None) -> Globals:
    """Globals for the functions of one pickle that were defined in the same place."""
    return {"__name__": module, "__package__": package, "__builtins__": builtins}


def make_function(code: CodeType, namespace: Globals, name: str, cells: tuple[CellType, ...]) -> FunctionType:
    """A function without what it refers to, which may refer to it."""
    return FunctionType(code, namespace, name, None, cells or None)


def fill_function(function: FunctionType, state: tuple[Any, ...]) -> None:
    """Give a function the globals it uses, its variables and its attributes."""
    sender, by_name, sent, used, assigned, modules, cells, attributes, own = state
    for module in modules:
        importlib.import_module(module)
    namespace = function.__globals__
    if sender is None:
        namespace.update(sent)
    else:
        origins().legacy(sender).settle(namespace, sent, used, assigned)
    if by_name:  # this process has the main module, where an initializer may have assigned more
        main = main_module()
        for name in used:
            if name in main and name not in namespace:
                namespace[name] = main[name]
    for cell, content in cells:
        cell.cell_contents = content
    for name, value in attributes.items():
        setattr(function, name, value)
    function.__dict__.update(own)


def fill_attributes(thing: Any, attributes: dict[str, Any]) -> None:
    """Give an object its own attributes, whatever its class makes of assigning them."""
    thing.__dict__.update(attributes)


def make_lru_cache(function: Any, maximum: int | None, typed: bool) -> Any:
    """A function behind a cache of the same size, which is empty."""
    from functools import lru_cache

    return lru_cache(maxsize=maximum, typed=typed)(function)


def make_mapping_proxy(content: dict[Any, Any]) -> Any:
    """A view of a dictionary of its own."""
    from types import MappingProxyType

    return MappingProxyType(content)


# --- classes ----------------------------------------------------------------------------------------------


def make_class(
    identity: str, metaclass: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
) -> type:
    """The class that goes by this identity here, which is made where none does; it has no attributes yet.

    Neither its metaclass nor its bases get to run anything: what they did to the original comes with it.
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
    """Give a copy the attributes that its original has now; an original that came home keeps its own."""
    table = origins()
    if not table.is_copy(made):
        return
    attributes, registered = state
    first = not table.has_arrived(made)
    fresh, gone = table.news(made, attributes)
    _set_attributes(made, fresh)
    for name in gone:
        if name in made.__dict__:
            type.__delattr__(made, name)
    for subclass in registered:
        made.register(subclass)  # type: ignore[attr-defined]
    if first and _tell_importable_base(made):
        _set_attributes(made, fresh)


def known_class(identity: str, name: str) -> Any:
    """This process's own class of which another process has a copy."""
    import pickle

    found = origins().known(identity)
    if found is None:
        raise pickle.UnpicklingError(
            f"{name} came from another process as a copy of a class that is not in this one, or not any more"
        )
    return found


def make_tuple(kind: type[tuple[Any, ...]], content: tuple[Any, ...]) -> Any:
    """A named tuple, also of a class that does not know yet how its instances are made."""
    return tuple.__new__(kind, content)


def make_member(enumeration: type, name: str, arguments: tuple[Any, ...]) -> Any:
    """A member of an enumeration, as the one that is there or without its attributes."""
    members = enumeration.__dict__.get("_member_map_", {})
    if name in members:
        return members[name]
    for base in enumeration.__mro__:
        if base is object or not hasattr(base, "_member_map_"):
            return base.__new__(enumeration, *arguments)
    raise AssertionError("every class is an object")


def make_type_variable(
    identity: str | None, kind: Any, arguments: tuple[Any, ...], options: dict[str, Any], module: str
) -> Any:
    """The type variable that goes by this identity here."""
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
    """Have no `__init_subclass__` called: the class is bare still, and its keywords are not known."""
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
    """Let a base that this process imported know of its new subclass, as a registry of subclasses must."""
    owner = next((c for c in made.__mro__[1:] if _has_hook(c)), None)
    if owner is None or owner.__module__ in ("typing", "typing_extensions") or origins().is_copy(owner):
        return False
    try:
        super(made, made).__init_subclass__()  # type: ignore[arg-type]
    except Exception:  # with keywords that only the `class` statement knew
        pass
    return True


def fixture(module: str, name: str) -> Any:
    """What every process has one of, such as its standard output."""
    return getattr(sys.modules[module], name)
