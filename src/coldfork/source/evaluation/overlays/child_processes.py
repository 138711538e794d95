"""Starts of processes, and launchers: how the child uses a device, and which values cannot be sent to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coldfork.model.effects import EffectKind, Obstacle, StepKind
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.overlays.contexts import named
from coldfork.source.evaluation.starting import Woken, note_start, surest
from coldfork.source.evaluation.trace import Link, Start, Trouble, Wake
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    NONE,
    TRUE,
    UNKNOWN,
    Bound,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Mapping,
    Partial,
    Sequence,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Call, Context, Shared

#: Start methods whose child is a new interpreter, so that all values have to be sent to it.
_ANEW = frozenset({"spawn", "forkserver"})
_PROCESSES = frozenset({EffectKind.FORKS, EffectKind.SPAWNS})


def start(
    ev: Interpreter,
    frame: Frame,
    context: Context,
    calls: tuple[Call, ...],
    end: Link,
    woken: Woken | None = None,
    condition: Condition | None = None,
    daemonic: bool = False,
    tasks: tuple[Call, ...] = (),
    pool: tuple[str, int] | None = None,
) -> None:
    """Record that processes start here, and how they use a device in the calls that they make or in later
    tasks.
    """
    if frame.quiet:
        return
    # A new process may use a device freely, unless another platform or Python would fork it.
    looked_at = context.method == "fork" or context.by_default or daemonic
    done = (*calls, *tasks)
    child = _in_child(ev, frame, done) if looked_at else _Child(None, None)
    names = [name for call in reversed(done) if (name := _name(call.function))]
    using = set() if child.uses is None else {link.symbol for link in child.uses.link.along}
    target = next((name for name in names if name in using), names[0] if names else "")
    needs = () if condition is None else (condition,)
    used = child.uses if context.method == "fork" or context.by_default else None
    trouble = _trouble_in_sending(context, calls) if context.method in _ANEW else None
    if trouble is None and daemonic and child.starts is not None:
        trouble = Trouble(Obstacle.DAEMONIC, "", child.starts.link)
        needs = (*needs, *child.starts.conditions)
    if trouble is None and used is not None:  # why another start method would fail
        refused = next(filter(None, map(_refused, calls)), "")
        trouble = Trouble(Obstacle.UNPICKLABLE, refused) if refused else None
    kind = EffectKind.FORKS if context.method == "fork" else EffectKind.SPAWNS
    found = Start(kind, context.method, context.chosen, target, needs, (), end, child=used, trouble=trouble)
    note_start(frame, found._replace(by_default=context.by_default, pool=pool), woken)


def hand_to_pool(frame: Frame, context: Context, call: Call, end: Link) -> None:
    """Record a task of a pool or executor if it cannot be pickled, as even forked processes require."""
    refused = _refused(call)
    if refused:
        method = context.method or "fork"
        kind = EffectKind.FORKS if method == "fork" else EffectKind.SPAWNS
        start = Start(kind, method, context.chosen, _name(call.function), (), (), end, tasks=True)
        note_start(frame, start._replace(trouble=Trouble(Obstacle.UNPICKLABLE, refused)))


def sink(name: str) -> Link:
    """Return the last link of a path: the call that starts the processes."""
    return Link(StepKind.SINK, name, None, None, None)


def refuse(
    frame: Frame, context: Context, calls: Iterable[Call], end: Link, condition: Condition | None
) -> bool:
    """Record values that cannot be sent to the processes of an object made here; return whether there are
    any.
    """
    trouble = _trouble_in_sending(context, calls) if context.method in _ANEW else None
    if trouble is None:
        return False
    needs = () if condition is None else (condition,)
    start = Start(EffectKind.SPAWNS, context.method, context.chosen, "", needs, (), end, trouble=trouble)
    note_start(frame, start._replace(tasks=True))
    return True


def items_of(value: Value | None) -> Values:
    """Return the arguments that a tuple or a list contains."""
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Const) and isinstance(value.value, tuple):
        return tuple(map(Const, value.value))
    return ()


class _Child(NamedTuple):
    """The effects of a started process: how it uses a device, and the processes that it starts."""

    uses: Wake | None
    """The surest wake in the child, if there is one."""
    starts: Start | None
    """The surest process start in the child, if there is one."""


def _in_child(ev: Interpreter, frame: Frame, calls: tuple[Call, ...]) -> _Child:
    """Return the effects of calls that run in a copy of this process."""
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
    starts = [one for one in child.starts.values() if one.does in _PROCESSES and one.method and not one.tasks]
    return _Child(
        surest(child.wakes.values()),
        min(starts, key=lambda one: (one.off, len(one.conditions)), default=None),
    )


def _trouble_in_sending(context: Context, calls: Iterable[Call]) -> Trouble | None:
    """Return why some calls cannot be sent to a new process; None if no reason is known."""
    for call in calls:
        if refused := _refused(call):
            return Trouble(Obstacle.UNPICKLABLE, refused)
        shared = next((one for one in _held(call) if isinstance(one, Shared) and one.method == "fork"), None)
        if shared is not None:
            return Trouble(Obstacle.OTHER_CONTEXT, shared.kind)
    return None


def _refused(call: Call) -> str:
    """Return the part of a call that cannot be pickled, in words; empty if there is none."""
    values = (call.function, *call.positional, *call.keywords.values())
    return next(filter(None, map(_unpicklable, values)), "")


def _held(call: Call) -> Iterator[Value]:
    """Yield the values sent along with a call: arguments, contents of containers, and the object of
    a method.
    """
    for value in (call.function, *call.positional, *call.keywords.values()):
        held = value.receiver if isinstance(value, Bound) else value
        yield held
        if isinstance(held, Partial):
            yield from held.positional
            yield from held.keywords.values()
        if isinstance(held, Instance):
            yield from held.attributes.values()
        elif isinstance(held, Sequence):
            yield from held.items
        elif isinstance(held, Mapping):
            yield from held.items.values()


def _unpicklable(value: Value) -> str:
    if isinstance(value, Function):
        if value.name == "<lambda>":
            return "a lambda"
        local = value.env is not None and value.owner is None and not value.named
        return f"the local function {value.name}" if local else ""
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
    """Return the name of a function for a message; empty if it has none."""
    if isinstance(function, Function):
        return function.qualified
    if isinstance(function, ClassRef):
        return function.name
    if isinstance(function, (Bound, Partial)):
        return _name(function.function)
    return function.name if isinstance(function, External) else ""


_OF_SPAWN = ("fn", "args", "nprocs", "join", "daemon", "start_method")
_OF_NOTEBOOK = ("function", "args", "num_processes")
#: The variable that selects the method by which vLLM starts its engine's process.
_VLLM = "VLLM_WORKER_MULTIPROC_METHOD"


def _spawn(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `torch.multiprocessing.spawn(fn, args, nprocs)`, which passes a process's number to `fn`
    first.
    """
    given: Keywords = {**dict(zip(_OF_SPAWN, positional, strict=False)), **keywords}
    call = Call(given.get("fn", UNKNOWN), (UNKNOWN, *items_of(given.get("args"))), {})
    context = Context("spawn", "torch.multiprocessing.spawn")
    method = given.get("start_method", Const("spawn"))
    if method != Const("spawn"):
        context = named(method)
    daemonic = given.get("daemon") == TRUE
    start(ev, frame, context, (call,), _end("torch.multiprocessing.spawn"), daemonic=daemonic)
    return NONE


def _notebook(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `accelerate.notebook_launcher(function, args, num_processes)`, which forks for
    several processes.
    """
    given: Keywords = {**dict(zip(_OF_NOTEBOOK, positional, strict=False)), **keywords}
    number = given.get("num_processes", NONE)
    if number in (NONE, Const(1)):
        return None
    call = Call(given.get("function", UNKNOWN), items_of(given.get("args")), {})
    several = None if isinstance(number, Const) else Condition(words="num_processes is more than 1")
    context = Context("fork", "notebook_launcher")
    start(ev, frame, context, (call,), _end("notebook_launcher"), condition=several)
    return NONE


def _engine(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `vllm.LLM(...)`: a variable names the method that starts the engine's process."""
    method = ev.environment.values.get(_VLLM, "fork")
    chosen = f"{_VLLM}={method}" if _VLLM in ev.environment.values else "vLLM's default"
    context = Context(method or "", chosen)
    start(ev, frame, context, (), _end("vllm.LLM"))
    return None


def _end(name: str) -> Link:
    return Link(StepKind.SINK, name, None, None, None)


LAUNCHERS: dict[str, Model] = {
    "torch.multiprocessing.spawn": _spawn,
    "torch.multiprocessing.start_processes": _spawn,
    "torch.multiprocessing.spawn.spawn": _spawn,
    "torch.multiprocessing.spawn.start_processes": _spawn,
    "accelerate.notebook_launcher": _notebook,
    "accelerate.launchers.notebook_launcher": _notebook,
    "vllm.LLM": _engine,
    "vllm.entrypoints.llm.LLM": _engine,
}
