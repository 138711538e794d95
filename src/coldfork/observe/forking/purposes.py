"""Determine the purpose of a child from the functions that are about to fork it.

The answers are the values of `Purpose` in `coldfork.model.forking.judgement`, as plain text, because a
watched program may not have imported enumerations.
"""

from __future__ import annotations

import sys

from coldfork.observe.late_imports import LATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

PROGRAM = "program"
PREEXEC = "preexec"
DATALOADER = "dataloader"
POOL = "pool"
PROCESS = "process"
PLAIN = "plain"

FORK_THEN_EXEC = frozenset(
    {
        # Lib/os.py: spawnv and its seven variants fork, and the child calls exec or _exit.
        ("os", "_spawnvef"),
        # Lib/pty.py: the child of forkpty calls execlp.
        ("pty", "spawn"),
        # Lib/http/server.py, until Python 3.14: the child calls execve on the script.
        ("http.server", "run_cgi"),
        # ptyprocess/ptyprocess.py, under pexpect and IPython's `!`: the child calls execv or execvpe.
        ("ptyprocess.ptyprocess", "spawn"),
        # gunicorn/arbiter.py: the child forked on SIGUSR2 calls execvpe; workers are ordinary forks.
        ("gunicorn.arbiter", "reexec"),
    }
)
"""Functions whose forked child runs another program at once."""

LAUNCHERS = ("multiprocessing", "billiard", "multiprocess")
"""The packages whose `popen_fork.Popen` forks: multiprocessing and its copies."""

_POPEN = ("subprocess", "_execute_child")
_NEAR = 3
"""How many frames are searched for the call that forks; `pty.fork` and a wrapper may lie in between."""
_LAUNCH_NEAR = 8
"""The same, from the fork to multiprocessing's `Popen`; the guard's own wrapper may lie in between."""

WORKERS = {
    ("torch.utils.data._utils.worker", "_worker_loop"): DATALOADER,
    ("torch.utils.data.dataloader", "DataLoader"): DATALOADER,
    # `Pool`, and joblib's pool, which is based on it: a worker gets its tasks through a queue.
    ("multiprocessing.pool", "worker"): POOL,
    ("billiard.pool", "Worker"): POOL,
    ("multiprocess.pool", "worker"): POOL,
    ("concurrent.futures.process", "_process_worker"): POOL,
    ("concurrent.futures.process", "ProcessPoolExecutor"): POOL,
    ("multiprocessing.pool", "Pool"): POOL,
    ("multiprocessing.managers", "BaseManager._run_server"): POOL,
    ("pebble.pool.process", "worker_process"): POOL,
}
"""The functions that workers of a known kind run, or the classes that start them, each with the purpose."""


def purpose_of(frame: FrameType | None) -> str:
    """Return the purpose of the child that this frame, or one of its callers, is forking."""
    return purpose_and_target(frame)[0]


def purpose_and_target(frame: FrameType | None) -> tuple[str, Any]:
    """Return the child's purpose, and the function that the child will run if that is known."""
    at, distance = frame, 0
    while at is not None and distance < _LAUNCH_NEAR:
        place = (at.f_globals.get("__name__"), at.f_code.co_name)
        if distance < _NEAR:
            if place in FORK_THEN_EXEC:
                return PROGRAM, None
            if place == _POPEN:
                before = at.f_locals.get("preexec_fn")
                return (PROGRAM, None) if before is None or does_nothing(before) else (PREEXEC, before)
        if place[1] == "_launch" and str(place[0]).endswith(".popen_fork"):
            return of_process(at.f_locals.get("process_obj"))
        at, distance = at.f_back, distance + 1
    return PLAIN, None


def process_at(frame: FrameType | None) -> Any:
    """Return the process of multiprocessing that this frame or a caller of it is starting; None
    without one.
    """
    at, distance = frame, 0
    while at is not None and distance < _LAUNCH_NEAR:
        if at.f_code.co_name == "_launch" and str(at.f_globals.get("__name__")).endswith(".popen_fork"):
            return at.f_locals.get("process_obj")
        at, distance = at.f_back, distance + 1
    return None


def of_process(process: Any) -> tuple[str, Any]:
    """Return the purpose of a process of multiprocessing, and the function that it will run."""
    target = getattr(process, "_target", None)
    if target is None:
        # The user's own subclass of `Process`, which does its work in `run`.
        target = getattr(type(process), "run", None)
    found = of_target(target)
    return (PROCESS if found is None else found), target


def of_target(target: Any) -> str | None:
    """Return the kind of worker that runs this function or is started by this class; None if unknown."""
    target = unwrapped(target)
    place = (getattr(target, "__module__", None), getattr(target, "__qualname__", None))
    return WORKERS.get(place)  # type: ignore[arg-type]


def unwrapped(function: Any) -> Any:
    """Return the function inside a partial, or the given function itself."""
    while hasattr(function, "func") and hasattr(function, "keywords"):
        function = function.func
    return function


def does_nothing(function: Callable[..., Any]) -> bool:
    """Return whether a `preexec_fn` only calls the kernel, like `os.setsid` and functions that use it."""
    handed: list[object] = []
    while hasattr(function, "func") and hasattr(function, "keywords"):
        handed += [*function.args, *function.keywords.values()]  # type: ignore[attr-defined]
        function = function.func
    if isinstance(function, type(unwrapped)):
        handed += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if not all(map(_is_of_the_system, handed)):
        # Other objects may have methods with any effect.
        return False
    if type(function) is type(len):
        return function.__module__ in _OF_THE_SYSTEM
    return isinstance(function, type(unwrapped)) and _asks_only_the_kernel(function)


_OF_THE_SYSTEM = frozenset({"posix", "nt", "os", "signal", "_signal", "resource", "fcntl"})
_HARMLESS_VALUES = (bool, int, str, bytes, float, type(None))
_REACHING = ("exec", "eval", "__import__", "globals", "vars", "compile")
"""Built-in functions that give access to everything in the process."""


def _asks_only_the_kernel(function: Any) -> bool:
    LATE.load("dis")
    import dis

    for one in dis.get_instructions(function.__code__):
        if one.opname == "IMPORT_NAME" and one.argval not in _OF_THE_SYSTEM:
            return False
        if one.opname in ("LOAD_DEREF", "MAKE_FUNCTION") or one.argval in _REACHING:
            return False
        if one.opname == "LOAD_GLOBAL" and not _is_of_the_system(function.__globals__.get(one.argval)):
            return False
    return True


def _is_of_the_system(value: Any) -> bool:
    if type(value) in _HARMLESS_VALUES:
        # Names that the module does not define are those of built-ins.
        return True
    if type(value) is tuple:
        return all(map(_is_of_the_system, value))
    home = value if isinstance(value, type(sys)) else getattr(value, "__module__", None)
    return getattr(home, "__name__", home) in _OF_THE_SYSTEM
