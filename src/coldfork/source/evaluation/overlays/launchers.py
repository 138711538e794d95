"""Models of what starts processes on behalf of others: launchers, and vLLM's engine."""

from __future__ import annotations

from coldfork.model.chains import StepKind
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.overlays.child_processes import items_of, start
from coldfork.source.evaluation.overlays.contexts import named
from coldfork.source.evaluation.trace import Link
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import NONE, TRUE, UNKNOWN, Const, Keywords, Value
from coldfork.source.values.processes import Call, Context

_OF_SPAWN = ("fn", "args", "nprocs", "join", "daemon", "start_method")
_OF_NOTEBOOK = ("function", "args", "num_processes")
#: The variable by which a program chooses how vLLM starts its engine.
_VLLM = "VLLM_WORKER_MULTIPROC_METHOD"


def _spawn(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`torch.multiprocessing.spawn(fn, args, nprocs)`: each process is given its number first."""
    given: Keywords = {**dict(zip(_OF_SPAWN, positional, strict=False)), **keywords}
    call = Call(given.get("fn", UNKNOWN), (UNKNOWN, *items_of(given.get("args"))), {})
    context = Context("spawn", "torch.multiprocessing.spawn")
    method = given.get("start_method", Const("spawn"))
    if method != Const("spawn"):
        context = named(method)
    daemonic = given.get("daemon") == TRUE
    start(ev, frame, context, (call,), _end("torch.multiprocessing.spawn"), daemonic=daemonic)
    return NONE


def _notebook(
    ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords
) -> Value | None:
    """`accelerate.notebook_launcher(function, args, num_processes)`: it forks more than one."""
    given: Keywords = {**dict(zip(_OF_NOTEBOOK, positional, strict=False)), **keywords}
    number = given.get("num_processes", NONE)
    if number in (NONE, Const(1)):
        return None
    call = Call(given.get("function", UNKNOWN), items_of(given.get("args")), {})
    several = None if isinstance(number, Const) else Condition(words="num_processes is more than 1")
    context = Context("fork", "notebook_launcher")
    start(ev, frame, context, (call,), _end("notebook_launcher"), condition=several)
    return NONE


def _engine(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`vllm.LLM(...)`: its engine runs in a process, started by the method that a variable names."""
    method = ev.environment.values.get(_VLLM, "fork")
    context = Context(
        method or "", f"{_VLLM}={method}" if _VLLM in ev.environment.values else "vLLM's default"
    )
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
