"""Models of multiprocessing's contexts: the current start method, which calls use it, and which set it."""

from __future__ import annotations

from coldfork.model.effects import EffectKind, Obstacle, StepKind
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.starting import note_start
from coldfork.source.evaluation.trace import Link, Start, Trouble
from coldfork.source.syntax.variables import METHOD_IN_USE, START_METHOD
from coldfork.source.values.kinds import FALSE, NONE, UNKNOWN, Const, Keywords, Value, Values
from coldfork.source.values.rarer_kinds import Context, Shared

#: The first Python version that does not fork processes by default.
_FORKSERVER = (3, 14)
#: Objects of one context, which may not be passed to processes of another context.
SHARED = (
    "Array", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock", "Queue", "RLock",
    "Semaphore", "SimpleQueue", "Value",
)  # fmt: skip
#: Other functions that use the default context.
_USING = ("Manager", "pool.ThreadPool")


def default(ev: Interpreter) -> Context:
    """Return the default context."""
    if START_METHOD in ev.environment.values:
        method = ev.environment.values[START_METHOD]
        return Context(method or "", f'set_start_method("{method}")' if method else "")
    version = ev.program.target_version
    method = "forkserver" if version >= _FORKSERVER else "fork"
    return Context(method, f"the default of Python {version[0]}.{version[1]} on Linux", by_default=True)


def in_use(ev: Interpreter, frame: Frame) -> Context:
    """Return the default context, and record that it is used: its start method can no longer be changed."""
    if not frame.quiet and METHOD_IN_USE not in ev.environment.values:
        _note_in_use(ev, None if frame.conditions or frame.off is not None else _place(frame))
    return default(ev)


def named(method: Value) -> Context:
    """Return the context of a start method, given its name."""
    if isinstance(method, Const) and isinstance(method.value, str):
        return Context(method.value, f'get_context("{method.value}")')
    return Context("", "")


def _place(frame: Frame) -> str:
    return f"{frame.module.name} {frame.line} {frame.symbol}"


def _note_in_use(ev: Interpreter, place: str | None) -> None:
    ev.environment.set(METHOD_IN_USE, place)
    ev.journal.note_peculiar()


def _get_context(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    method = positional[0] if positional else keywords.get("method", NONE)
    return in_use(ev, frame) if method == NONE else named(method)


def _set_start_method(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if frame.quiet:
        return NONE
    method = positional[0] if positional else keywords.get("method")
    chosen = method.value if isinstance(method, Const) and isinstance(method.value, str) else None
    force = positional[1] if len(positional) > 1 else keywords.get("force", FALSE)
    trouble = _too_late(ev, chosen) if force == FALSE else None
    end = Link(StepKind.SINK, "set_start_method", None, None, None)
    sets = EffectKind.SETS_START_METHOD
    note_start(frame, Start(sets, chosen or "", "", "", (), (), end, trouble=trouble))
    if trouble is not None:
        return NONE  # it raises an error, so the start method is unchanged
    sure = not frame.conditions and frame.off is None
    # Under a condition, the method may be either this one or the previous one.
    ev.environment.set(START_METHOD, chosen if sure or chosen == default(ev).method else None)
    _note_in_use(ev, _place(frame) if sure else None)
    return NONE


def _too_late(ev: Interpreter, chosen: str | None) -> Trouble | None:
    """Return the trouble with setting a start method after an earlier line used another one; None if none
    did.
    """
    place = ev.environment.values.get(METHOD_IN_USE)
    if place is None or chosen is None:
        return None
    module, line, symbol = place.split(" ", 2)
    return Trouble(
        Obstacle.METHOD_IN_USE, default(ev).method, Link(StepKind.CALL, symbol, module, int(line), None)
    )


def _get_start_method(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    allow_none = positional[0] if positional else keywords.get("allow_none", FALSE)
    if allow_none != FALSE and METHOD_IN_USE not in ev.environment.values:
        return NONE
    if allow_none != FALSE and ev.environment.values[METHOD_IN_USE] is None:
        return UNKNOWN  # the default context may not have been used
    method = in_use(ev, frame).method
    return Const(method) if method else UNKNOWN


def _sharing(kind: str) -> Model:
    return lambda ev, frame, given, named: Shared(kind, in_use(ev, frame).method)


def _using(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    in_use(ev, frame)
    return None


#: The models, by the functions' names in the multiprocessing packages.
CONTEXTS: dict[str, Model] = {
    "get_context": _get_context,
    "set_start_method": _set_start_method,
    "get_start_method": _get_start_method,
    **{kind: _sharing(kind) for kind in SHARED},
    **dict.fromkeys(_USING, _using),
}
