"""Models of functions that start processes: `multiprocessing`, its copies in other packages, and
executors.
"""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.model.effects import EffectKind
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.overlays.child_processes import hand_to_pool, items_of, refuse, sink, start
from coldfork.source.evaluation.overlays.contexts import CONTEXTS, SHARED, default, in_use, named
from coldfork.source.evaluation.starting import note_start, woken_by
from coldfork.source.evaluation.trace import Start
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    NONE,
    TRUE,
    UNKNOWN,
    Bound,
    Const,
    External,
    Instance,
    Keywords,
    Mapping,
    Method,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import CLASSES, FUNCTIONS, Call, Context, Shared, Work

#: The packages that provide `multiprocessing`'s functions.
_PACKAGES = ("multiprocessing", "torch.multiprocessing")
#: Methods of a pool that call the function with one item at a time.
_ONE_BY_ONE = frozenset({"map", "map_async", "imap", "imap_unordered", "starmap", "starmap_async"})
_AT_ONCE = frozenset({"apply", "apply_async"})
_OF_EXECUTORS = frozenset({"submit", "map"})
_EXECUTOR = "ProcessPoolExecutor"
_OF_LOADERS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn")
#: Methods that start processes without needing a task.
_ALONE = {"start": "Process.start", "__iter__": "DataLoader.__iter__"}


def call_method(
    ev: Interpreter, frame: Frame, method: Method, positional: Values, keywords: Keywords
) -> Value | None:
    """Return the result of a method of a context, process, pool or executor; None for any other receiver."""
    receiver, name = method.receiver, method.name
    if isinstance(receiver, Context):
        if name == "Process":
            return _process(receiver, positional, keywords)
        if name == "Pool":
            return _pool(ev, frame, receiver, positional, keywords)
        if name in SHARED:
            return Shared(name, receiver.method)
        return receiver if name == "get_context" and not positional else UNKNOWN
    if isinstance(receiver, Work):
        return _work(ev, frame, receiver, name, positional, keywords)
    return UNKNOWN if isinstance(receiver, Shared) else None


def start_instance(ev: Interpreter, frame: Frame, process: Instance, bases: Iterable[Value]) -> bool:
    """Start a process of a class derived from one in multiprocessing: the child calls `run`.

    Return whether the object is such a process.
    """
    contexts = [found for base in bases if (found := _context_of(ev, frame, base)) is not None]
    if not contexts:
        return False
    run = ev.attribute(frame, process, "run")
    calls = (Call(run if isinstance(run, Bound) else process, (), {}),)
    daemonic = ev.attribute(frame, process, "daemon") == TRUE
    start(ev, frame, contexts[0], calls, sink("Process.start"), daemonic=daemonic)
    return True


def _context_of(ev: Interpreter, frame: Frame, base: Value) -> Context | None:
    """Return the context of a class of processes without source; None for a class of another kind."""
    if not isinstance(base, External):
        return None
    package, _, name = base.name.rpartition(".")
    if package.removesuffix(".context") not in _PACKAGES:
        return None
    if name in CLASSES:
        return Context(CLASSES[name], name)
    return in_use(ev, frame) if name == "Process" else None


# -- what the processes run ------------------------------------------------------------------------------


def _process(context: Context | None, positional: Values, keywords: Keywords) -> Work:
    """Model `Process(group, target, name, args, kwargs)`."""
    given = dict(zip(("group", "target", "name", "args", "kwargs"), positional, strict=False))
    target = given.get("target", keywords.get("target"))
    args, kwargs = given.get("args", keywords.get("args")), given.get("kwargs", keywords.get("kwargs"))
    call = None if target is None or target == NONE else Call(target, items_of(args), _named(kwargs))
    work = Work(context, () if call is None else (call,))
    work.daemonic = keywords.get("daemon") == TRUE
    return work


def _pool(ev: Interpreter, frame: Frame, context: Context, positional: Values, keywords: Keywords) -> Work:
    """Model `Pool(processes, initializer, initargs)`, whose processes start at once."""
    work = Work(context, _initializer(positional, keywords))
    _note_made(frame, work)
    work.daemonic = True
    start(ev, frame, context, work.calls, sink("Pool"), daemonic=True)
    return work


def _initializer(positional: Values, keywords: Keywords) -> tuple[Call, ...]:
    initializer = positional[1] if len(positional) > 1 else keywords.get("initializer")
    if initializer is None or initializer == NONE:
        return ()
    given = positional[2] if len(positional) > 2 else keywords.get("initargs")
    return (Call(initializer, items_of(given), {}),)


def _work(
    ev: Interpreter, frame: Frame, work: Work, name: str, positional: Values, keywords: Keywords
) -> Value:
    """Return the result of a method of a process, a pool or an executor."""
    if name == "__enter__":
        return work
    context = work.context or in_use(ev, frame)
    if name in _ALONE and name in work.starts:
        end = sink(_ALONE[name])
        calls = () if work.told else work.calls
        start(ev, frame, context, calls, end, condition=work.condition, daemonic=work.daemonic)
        return UNKNOWN
    given = _given(name, work, positional, keywords)
    if given is None:
        return UNKNOWN
    hand_to_pool(frame, context, given, sink(name))
    if work.made_at is not None:
        _give(ev, frame, work, context, name, given)
    elif name in work.starts:
        start(ev, frame, context, work.calls, sink(f"{_EXECUTOR}.{name}"), tasks=(given,))
        if context.method == "fork" and not frame.conditions and frame.off is None and not frame.quiet:
            _note_made(frame, work)  # its first task starts all processes
    return UNKNOWN


def _note_made(frame: Frame, work: Work) -> None:
    """Record the line where the processes of a pool start, and the wakes before it."""
    work.made_at = frame.module.name, frame.symbol, frame.line
    work.woken = woken_by(frame)


def _give(ev: Interpreter, frame: Frame, work: Work, context: Context, name: str, given: Call) -> None:
    """Record a task given to the processes of a pool, which have started already."""
    assert work.made_at is not None
    module, symbol, line = work.made_at
    what = _EXECUTOR if work.starts == _OF_EXECUTORS else "Pool"
    if (module, symbol) != (frame.module.name, frame.symbol):
        pool = module, line
        end = sink(f"{what}.{name}")
        start(ev, frame, context, work.calls, end, daemonic=work.daemonic, tasks=(given,), pool=pool)
        return
    here, frame.line = frame.line, line
    try:
        start(ev, frame, context, work.calls, sink(what), work.woken, daemonic=work.daemonic, tasks=(given,))
    finally:
        frame.line = here


def _given(name: str, work: Work, positional: Values, keywords: Keywords) -> Call | None:
    """Return the call that is given to a pool or executor as a task; None if there is none."""
    if not positional:
        return None
    function, *rest = positional
    if work.starts == _OF_EXECUTORS:
        if name == "submit":
            return Call(function, tuple(rest), keywords)
        return Call(function, (UNKNOWN,) * len(rest), {}) if name == "map" else None
    if name in _AT_ONCE:
        args = rest[0] if rest else keywords.get("args")
        return Call(function, items_of(args), _named(rest[1] if len(rest) > 1 else keywords.get("kwds")))
    if name in _ONE_BY_ONE:
        if not name.startswith("star"):
            return Call(function, (UNKNOWN,), {})
        first = items_of(rest[0] if rest else None)
        return Call(function, items_of(first[0]) if first else (UNKNOWN,), {})
    return None


def _named(value: Value | None) -> Keywords:
    """Return the keyword arguments that a dictionary contains."""
    if not isinstance(value, Mapping):
        return {}
    return {str(key.value): held for key, held in value.items.items() if isinstance(key, Const)}


# -- models by name ---------------------------------------------------------------------------------------


def _process_of(name: str) -> Model:
    """Return the model of a class such as `SpawnProcess`, whose start method is fixed."""
    return lambda ev, frame, given, named: _process(Context(CLASSES[name], name), given, named)


def _executor(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `ProcessPoolExecutor(max_workers, mp_context, initializer, initargs)`."""
    given = positional[1] if len(positional) > 1 else keywords.get("mp_context", NONE)
    unknown = None if given == NONE else Context("", "")
    work = Work(given if isinstance(given, Context) else unknown, _initializer(positional[1:], keywords))
    work.starts = _OF_EXECUTORS
    return work


def _loader(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model a `DataLoader`, whose workers start when it is iterated: they read items and collate them."""
    given = dict(zip(_OF_LOADERS, positional, strict=False))
    workers = given.get("num_workers", keywords.get("num_workers", Const(0)))
    if workers == Const(0):
        return None
    dataset = given.get("dataset", keywords.get("dataset", UNKNOWN))
    called = [keywords.get("worker_init_fn", NONE), given.get("collate_fn", keywords.get("collate_fn", NONE))]
    if isinstance(dataset, Instance):
        called += [ev.attribute(frame, dataset, name) for name in ("__getitem__", "__iter__")]
    calls = [Call(one, (UNKNOWN,), {}) for one in called if isinstance(one, FUNCTIONS)]
    method = keywords.get("multiprocessing_context", NONE)
    context = method if isinstance(method, Context) else None
    if context is None and method != NONE:
        context = named(method)
    work = Work(context, tuple(calls))
    work.starts, work.daemonic = frozenset({"__iter__"}), True
    if not isinstance(workers, Const):
        work.condition = Condition(words="num_workers is not 0")
    work.told = refuse(frame, context or default(ev), work.calls, sink("DataLoader"), work.condition)
    return work


def _derived_loader(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `super().__init__(...)` in a class of loaders: values that cannot be sent to its workers are
    recorded.
    """
    _loader(ev, frame, positional, keywords)
    return None


def _program(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model running another program: this explains why an environment variable is set before."""
    note_start(frame, Start(EffectKind.EXECS, "", "", "", (), (), sink("exec")))
    return None


def _replacing(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model a function that replaces this process by another program: nothing after it runs."""
    _program(ev, frame, positional, keywords)
    raise Raised("SystemExit")


_IN_EVERY_PACKAGE: dict[str, Model] = {
    **CONTEXTS,
    **dict.fromkeys(
        ("Process", "context.Process"), lambda ev, frame, given, named: _process(None, given, named)
    ),
    **{f"context.{name}": _process_of(name) for name in CLASSES},
    **dict.fromkeys(
        ("Pool", "pool.Pool"),
        lambda ev, frame, given, named: _pool(ev, frame, in_use(ev, frame), given, named),
    ),
}
LOADERS = ("torch.utils.data.DataLoader.__init__", "torch.utils.data.dataloader.DataLoader.__init__")
_PROGRAMS = (
    *(f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output")),
    *(f"os.{name}" for name in ("system", "popen", "posix_spawn", "posix_spawnp", "spawnv", "spawnve")),
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
)
PROCESSES: dict[str, Model] = {
    **dict.fromkeys(_PROGRAMS, _program),
    **{f"os.exec{kind}": _replacing for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")},
    **{f"{package}.{name}": model for package in _PACKAGES for name, model in _IN_EVERY_PACKAGE.items()},
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.dataloader.DataLoader": _loader,
    **dict.fromkeys(LOADERS, _derived_loader),
    "concurrent.futures.ProcessPoolExecutor": _executor,
    "concurrent.futures.process.ProcessPoolExecutor": _executor,
}
