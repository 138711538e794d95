"""Call the function that a command stands for, as the script that installers write does."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax import nodes
from coldfork.source.values.kinds import UNKNOWN, Bound, Function


def call(ev: Interpreter, frame: Frame, dotted: str) -> None:
    """Call a function of a module that has run, by its name in it.

    Where a library of command lines has made something else of it, that calls it with what it reads there.
    """
    name, *attributes = dotted.split(".")
    value = ev.global_value(frame, name)
    for attribute in attributes:
        value = ev.attribute(frame, value, attribute)
    written = None if attributes else _written(ev, frame, name)
    if isinstance(value, Function):
        frame.at(value.line, value.line)
    elif written is not None:
        frame.at(written.line, written.line)
    frame.symbol = dotted
    if isinstance(value, Function):
        ev.call(frame, value, tuple([UNKNOWN] * _needed(ev, value)))
    elif isinstance(value, Bound) or written is None:
        ev.call(frame, value)
    else:
        code = ev.definitions.code_of(written)
        known = () if code is None else code.parameters.positional
        ev.call(frame, written, tuple([UNKNOWN] * len(known)))


def _needed(ev: Interpreter, function: Function) -> int:
    """How many arguments a function does not do without: what has read the command line gives them."""
    code = ev.definitions.code_of(function)
    return 0 if code is None else len(code.parameters.positional) - len(code.parameters.defaults)


def _written(ev: Interpreter, frame: Frame, name: str) -> Function | None:
    """The function as it is written, whatever its decorators have made of it."""
    entries = frame.module.summary.binds.get(name, ())
    for how, payload, _line, _guards in reversed(entries):
        if how == nodes.BY_DEF:
            return ev.definitions.function(frame.module, payload, None, None)
    return None
