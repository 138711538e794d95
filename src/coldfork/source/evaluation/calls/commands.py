"""Call the function that a command stands for, as the script that installers write does."""

from __future__ import annotations

from coldfork.source.evaluation.calls.argument_binding import unknown_arguments
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax import nodes
from coldfork.source.values.kinds import Bound, Function


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
    function = value if isinstance(value, Function) else written
    if isinstance(value, Bound) or function is None:
        ev.call(frame, value)
        return
    # What a parser has read is given for what it knows of; the script that an installer writes gives nothing.
    code = ev.definitions.code_of(function)
    given, keywords = ((), {}) if code is None else unknown_arguments(code.parameters, function is not value)
    ev.call(frame, function, given, keywords)


def _written(ev: Interpreter, frame: Frame, name: str) -> Function | None:
    """The function as it is written, whatever its decorators have made of it."""
    entries = frame.module.summary.binds.get(name, ())
    for how, payload, _line, _guards in reversed(entries):
        if how == nodes.BY_DEF:
            return ev.definitions.function(frame.module, payload, None, None)
    return None
