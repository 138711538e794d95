"""Processes as they start: what the child does with a device, and whether it can be handed what it needs."""

from __future__ import annotations

from coldfork.model.chains import StepKind
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.starting import Woken, note_start, surest
from coldfork.source.evaluation.trace import Link, Start, Wake
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    Bound,
    ClassRef,
    External,
    Function,
    Instance,
    Partial,
    Sequence,
    Value,
)
from coldfork.source.values.processes import Call, Context

#: Methods by which the child begins anew, and is sent what it needs.
_ANEW = frozenset({"spawn", "forkserver"})


def start(
    ev: Interpreter,
    frame: Frame,
    context: Context,
    calls: tuple[Call, ...],
    end: Link,
    woken: Woken | None = None,
    condition: Condition | None = None,
) -> None:
    """Note that processes start here, and what they do with a device."""
    if frame.quiet:
        return
    # What a process that begins anew does with a device is its own affair: only a fork inherits anything.
    child = _in_child(ev, frame, calls) if context.method == "fork" else None
    target = next(filter(None, (_name(call.function) for call in reversed(calls))), "")
    needs = () if condition is None else (condition,)
    refused = next(filter(None, map(_refused, calls)), "") if context.method in _ANEW else ""
    found = Start(context.method, context.chosen, target, needs, (), end, child=child, refused=refused)
    note_start(frame, found, woken)


def hand_to_pool(frame: Frame, context: Context, call: Call, end: Link) -> None:
    """Note what a pool or an executor is given to do, if that cannot be sent: it is pickled in any case."""
    refused = _refused(call)
    if refused:
        start = Start(context.method or "fork", context.chosen, _name(call.function), (), (), end)
        note_start(frame, start._replace(refused=refused, tasks=True))


def sink(name: str) -> Link:
    """The end of a way: what starts the processes."""
    return Link(StepKind.SINK, name, None, None, None)


def _in_child(ev: Interpreter, frame: Frame, calls: tuple[Call, ...]) -> Wake | None:
    """The surest way in which some calls use a device, in a copy of this process."""
    child = Frame(frame.module, frame.env, frame.function)
    child.symbol, child.line, child.end_line = frame.symbol, frame.line, frame.end_line
    kept, mark = dict(ev.environment.values), ev.journal.mark()
    ev.failing.append({})
    try:
        for call in calls:
            ev.call(child, call.function, call.positional, call.keywords)
    except Raised:
        pass
    finally:
        ev.failing.pop()
        ev.journal.forget(mark)
        if kept != ev.environment.values:
            ev.environment.begin(kept)
    return surest(child.wakes.values())


def _refused(call: Call) -> str:
    """Name what of a call cannot be pickled; empty where nothing is known to be so."""
    values = (call.function, *call.positional, *call.keywords.values())
    return next(filter(None, map(_unpicklable, values)), "")


def _unpicklable(value: Value) -> str:
    if isinstance(value, Function):
        if value.name == "<lambda>":
            return "a lambda"
        return f"the local function {value.name}" if value.env is not None and value.owner is None else ""
    if isinstance(value, Bound):
        return _unpicklable(value.receiver)
    if isinstance(value, ClassRef):
        return f"the local class {value.name}" if value.env is not None else ""
    if isinstance(value, Instance):
        return f"an object of the local class {value.cls.name}" if value.cls.env is not None else ""
    if isinstance(value, Partial):
        return next(filter(None, map(_unpicklable, (value.function, *value.positional))), "")
    if isinstance(value, Sequence):
        return next(filter(None, map(_unpicklable, value.items)), "")
    return ""


def _name(function: Value) -> str:
    """The name of a function as a message has it; empty for what has none."""
    if isinstance(function, Function):
        return function.qualified
    if isinstance(function, ClassRef):
        return function.name
    if isinstance(function, (Bound, Partial)):
        return _name(function.function)
    return function.name if isinstance(function, External) else ""
