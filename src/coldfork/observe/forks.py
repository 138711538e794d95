"""Sees forks, starts of other programs and threads, with what was awake at that moment."""

from __future__ import annotations

import os
import sys
from _thread import get_ident

from coldfork.observe.attribution import thread_name
from coldfork.observe.recording import redaction
from coldfork.observe.stacks.frames import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coldfork.observe.recording.events import Event

    States = Callable[[], list[Event]]

#: Variables that decide which devices a process sees.
VISIBILITY = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "HIP_VISIBLE_DEVICES",
        "JAX_PLATFORMS",
        "NVIDIA_VISIBLE_DEVICES",
        "ONEAPI_DEVICE_SELECTOR",
        "ROCR_VISIBLE_DEVICES",
        "ZE_AFFINITY_MASK",
    }
)


class Forks:
    """Listens to forks and audit events; neither listener can be removed, so it can fall silent."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        states: States,
        *,
        before_fork: Callable[[], None],
        in_child: Callable[[], None],
        thread_started: Callable[[object], None],
        trouble: Callable[[str, BaseException], None],
    ) -> None:
        self._emit = emit
        self._states = states
        self._before_fork = before_fork
        self._in_child = in_child
        self._thread_started = thread_started
        self._trouble = trouble
        self._restore_threads: Callable[[], None] = lambda: None
        self._actions: dict[str, Callable[[tuple[Any, ...]], None]] = {}

    def listen(self) -> None:
        """Begin to listen."""
        self._actions.update(
            {
                "_thread.start_new_thread": lambda given: self._thread_started(given[0]),
                "_thread.start_joinable_thread": lambda given: self._thread_started(given[0]),
                "subprocess.Popen": lambda given: self._spawn("subprocess", given[1] or [given[0]]),
                "os.posix_spawn": lambda given: self._spawn("posix_spawn", given[1]),
                "os.system": lambda given: self._spawn("system", [given[0]]),
                "os.exec": self._exec,
                "os.putenv": self._putenv,
            }
        )
        sys.addaudithook(_hook(self._actions, self._trouble))
        if sys.version_info < (3, 12):
            self._restore_threads = guard_threads(self._guarded, self._thread_started)
        os.register_at_fork(
            before=lambda: self._guarded(self._fork), after_in_child=lambda: self._guarded(self._in_child)
        )

    def fall_silent(self) -> None:
        """Listen no more."""
        self._actions.clear()
        self._restore_threads()
        self._emit = lambda event: None
        self._before_fork = self._in_child = lambda: None

    def spawned_by_multiprocessing(self, original: Callable[..., int]) -> Callable[..., int]:
        """A wrapper around `multiprocessing.util.spawnv_passfds`, which raises no audit event."""

        def spawnv_passfds(path: Any, args: Any, passfds: Any) -> int:
            event = self._guarded(self._spawn_event, "spawn", args)
            child = original(path, args, passfds)
            if event is not None:
                event["child"] = child
                self._guarded(self._emit, event)
            return child

        return spawnv_passfds

    def _guarded(self, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except Exception as error:
            self._trouble("fork", error)
            return None

    def _fork(self) -> None:
        self._before_fork()
        self._emit(
            {
                "event": "fork",
                "child": None,
                "stack": current(sys._getframe()),
                "states": self._states(),
                "thread": thread_name(get_ident()),
            }
        )

    def _spawn(self, method: str, args: Any) -> None:
        self._emit(self._spawn_event(method, args))

    def _spawn_event(self, method: str, args: Any) -> Event:
        return {
            "event": "spawn",
            "child": None,
            "method": method,
            "command": _command(args),
            "stack": current(sys._getframe()),
            "states": self._states(),
        }

    def _exec(self, arguments: tuple[Any, ...]) -> None:
        self._emit(
            {
                "event": "exec",
                "command": _command(arguments[1]),
                "stack": current(sys._getframe()),
                "states": self._states(),
            }
        )

    def _putenv(self, arguments: tuple[Any, ...]) -> None:
        name = os.fsdecode(arguments[0])
        if name not in VISIBILITY:
            return
        value = redaction.value_of(name, os.fsdecode(arguments[1]))
        self._emit(
            {
                "event": "effect",
                "kind": "sets-visibility",
                "what": f"{name}={value}",
                "stack": current(sys._getframe()),
            }
        )


def guard_threads(guarded: Callable[..., Any], started: Callable[[object], None]) -> Callable[[], None]:
    """Hear of new threads before Python 3.12, which raises no audit event for them; returns what undoes
    it."""
    import _thread

    original = _thread.start_new_thread

    def start_new_thread(*arguments: Any, **named: Any) -> int:
        guarded(started, arguments[0] if arguments else None)
        return original(*arguments, **named)

    places: list[tuple[Any, str]] = [(_thread, "start_new_thread"), (_thread, "start_new")]
    if "threading" in sys.modules:
        places.append((sys.modules["threading"], "_start_new_thread"))
    for module, name in places:
        setattr(module, name, start_new_thread)

    def restore() -> None:
        for module, name in [*places, (sys.modules.get("threading"), "_start_new_thread")]:
            if getattr(module, name, None) is start_new_thread:
                setattr(module, name, original)

    return restore


def _hook(
    actions: dict[str, Callable[[tuple[Any, ...]], None]], trouble: Callable[[str, BaseException], None]
) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # Python has dozens of events for each import, and hardly one that is asked for.
        if event in actions:
            try:
                actions[event](arguments)
            except Exception as error:
                trouble(event, error)

    return hook


def _command(args: Any) -> list[str]:
    if isinstance(args, (str, bytes)) or hasattr(args, "__fspath__"):
        args = [args]
    return redaction.command(
        os.fsdecode(a) if isinstance(a, bytes) or hasattr(a, "__fspath__") else a for a in args
    )
