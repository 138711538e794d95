"""Names that a library offers and the catalogue speaks of, be they defined elsewhere in it."""

from __future__ import annotations

from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.values.kinds import ClassRef, External, Function, Instance, Union, Unknown, Value


def as_catalogued(ev: Interpreter, reader: Module, dotted: str, value: Value) -> Value:
    """What code outside a library gets under a name of its that the catalogue speaks of.

    The catalogue answers for it then, with the library's source beside or not. Under the name that its own
    module gives it a function is looked up when it is called.
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
    elif isinstance(value, (Union, Unknown)) or _is_called(ev, value):
        # Whatever its own decorators make of it.
        return External(dotted) if ev.catalogue.call(dotted) else value
    else:
        return External(dotted) if dotted in ev.catalogue.calls else value
    if own in ev.catalogue.calls:
        return value
    known = ev.catalogue.call(dotted) or ev.catalogue.returned(dotted)
    return External(dotted) if known or _is_catalogued_module(ev, dotted, own) else value


def _is_called(ev: Interpreter, value: Value) -> bool:
    """True for an object that stands for a function, as NumPy's universal functions do."""
    return isinstance(value, Instance) and ev.member(value.cls, "__call__") is not None


def _is_catalogued_module(ev: Interpreter, dotted: str, own: str) -> bool:
    """True where a library offers a module of another package, `cupy.cuda.runtime`, whose names are known."""
    if own.partition(".")[0] == dotted.partition(".")[0]:
        return False
    return any(name.startswith(f"{dotted}.") for name in ev.catalogue.calls)
