"""The names that a module exports, as far as its bindings show this without running it."""

from __future__ import annotations

import re

from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.files.reading import CannotRead
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import text_constant
from coldfork.source.values.kinds import (
    ClassRef,
    External,
    Function,
    Instance,
    ModuleRef,
    Union,
    Unknown,
    Value,
)


def lazy_export(state: Module, name: str) -> tuple[str, str] | None:
    """Return the module and name behind `name`, which a module loads lazily, according to its TYPE_CHECKING
    imports.
    """
    for how, payload, _line, guards in state.summary.binds.get(name, ()):
        if how == nodes.BY_FROM and guards:
            source, level, imported = payload
            return state.absolute(source, level), imported
    return None


def star_names(ev: Interpreter, target: str) -> list[str]:
    """Return the names that `from target import *` binds, as far as the module's bindings show."""
    state = ev.program.module(target)
    if state is None:
        return []
    listed = state.summary.binds.get("__all__")
    if listed:
        names: list[str] = []
        for how, payload, _line, _guards in listed:
            match how, payload:
                case (nodes.BY_VALUE, (nodes.SEQUENCE, _, elements)):
                    names += [text for text in map(text_constant, elements) if text is not None]
        if names:
            return names
    return [name for name in state.summary.binds if not name.startswith("_")]


#: Code by which a module may bind names that appear in none of its statements.
_HIDDEN = re.compile(rb"\b(?:globals|exec|eval|vars|locals|setattr)\(|\bsys\.modules\b|\b__dict__\b")


def lacks(ev: Interpreter, state: Module, name: str) -> bool:
    """Return True if importing `name` from a module is certain to fail because nothing there could
    bind it.
    """
    summary = state.summary
    if state.located.is_package or summary.error is not None:
        return False
    if name.startswith("__") or "__getattr__" in summary.binds or summary.stars or name in summary.rebound:
        return False
    try:
        return _HIDDEN.search(ev.program.read_source(state.path)) is None
    except CannotRead:
        return False


def module_object(ev: Interpreter, dotted: str) -> Value:
    """Return the module with this absolute name as a value."""
    located = ev.program.find(dotted)
    if located is not None and not located.compiled:
        return ModuleRef(dotted)
    return External(dotted, is_module=True)


def as_catalogued(ev: Interpreter, reader: Module, dotted: str, value: Value) -> Value:
    """Return the value that code outside a library gets for a name of the library that the catalogue
    describes.

    The catalogue then applies, whether or not the library's source is at hand. A function under its own
    module's name is looked up only when it is called.
    """
    top = dotted.partition(".")[0]
    if top not in ev.known_libraries or reader.name.partition(".")[0] == top:
        return value
    if dotted in ev.catalogue.wraps:
        return External(dotted)
    if isinstance(value, (Function, ClassRef)):
        own = f"{value.module.name}.{value.qualified}"
    elif isinstance(value, External) and value.name != dotted:
        own = value.name
    elif isinstance(value, (Union, Unknown)) or (
        # An object that can be called like a function, such as one of NumPy's universal functions.
        isinstance(value, Instance) and ev.member(value.cls, "__call__") is not None
    ):
        # The catalogue applies whatever the library's own decorators do.
        return External(dotted) if ev.catalogue.call(dotted) else value
    else:
        return External(dotted) if dotted in ev.catalogue.calls else value
    if own in ev.catalogue.calls:
        return value
    known = ev.catalogue.call(dotted) or ev.catalogue.returned(dotted)
    return External(dotted) if known or _is_catalogued_module(ev, dotted, own) else value


def _is_catalogued_module(ev: Interpreter, dotted: str, own: str) -> bool:
    """Return True if a library exports another package's module and the catalogue has names in it:
    `cupy.cuda.runtime`.
    """
    if own.partition(".")[0] == dotted.partition(".")[0]:
        return False
    return any(name.startswith(f"{dotted}.") for name in ev.catalogue.calls)
