"""Report forks, and starts of other programs and threads, each with the states at that moment."""

from __future__ import annotations

import os
import sys
from _thread import get_ident

from coldfork.observe.attribution import thread_name
from coldfork.observe.forking.child_watch import ChildWatch
from coldfork.observe.processes.beginning import Beginning
from coldfork.observe.processes.identity import youngest_child
from coldfork.observe.processes.programs import python_at
from coldfork.observe.processes.starts import FORK_EXEC, Starts
from coldfork.observe.processes.table import start_of
from coldfork.observe.processes.waits import Waits
from coldfork.observe.recording import redaction
from coldfork.observe.stacks.frames import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from coldfork.observe.recording.events import Event

    States = Callable[[], list[Event]]

#: Variables that decide which devices a process sees.
VISIBILITY = frozenset({
    "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES", "JAX_PLATFORMS",
    "NVIDIA_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
})  # fmt: skip


class Forks:
    """Listens to forks and audit events; it cannot be removed, but can be silenced."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        states: States,
        *,
        before_fork: States,
        in_child: Callable[[Event | None], None],
        thread_started: Callable[[object], None],
        trouble: Callable[[str, BaseException], None],
        touched: Callable[[Event], None],
        variable: str = "",
    ) -> None:
        self._emit = emit
        self._states = states
        self._before_fork = before_fork
        self._in_child = in_child
        self._thread_started = thread_started
        self._trouble = trouble
        self.children: ChildWatch = ChildWatch(touched)
        self._restore_threads: Callable[[], None] = lambda: None
        self._actions: dict[str, Callable[[tuple[Any, ...]], None]] = {}
        self.beginning: Beginning = Beginning(self._actions)
        self._count = 0
        self._under_way: dict[int, tuple[Event, int | None]] = {}
        """For each thread, the fork in progress and the youngest child before it."""
        self._starts = Starts(self._spawn_event, self._tell, self._guarded, variable)
        self._waits = Waits(self._tell, lambda: self._starts.children, self._guarded)

    def listen(self, *, ends: bool = False) -> None:
        """Begin to listen; with `ends`, also to the ends of children."""
        self._actions.update(
            {
                "_thread.start_new_thread": lambda given: self._thread_started(given[0]),
                "_thread.start_joinable_thread": lambda given: self._thread_started(given[0]),
                "os.system": lambda given: self._emit(self._spawn_event("system", ["sh", "-c", given[0]])),
                "os.exec": self._exec,
                "os.putenv": self._putenv,
            }
        )
        sys.addaudithook(_hook(self._actions, self._trouble))
        if sys.version_info < (3, 12):
            self._restore_threads = guard_threads(self._guarded, self._thread_started)
        self._starts.install()
        if ends:
            self._waits.install()
        os.register_at_fork(
            after_in_parent=lambda: self._guarded(self.children.in_parent),
            after_in_child=lambda: self._guarded(self.children.in_child),
        )
        os.register_at_fork(
            before=lambda: self._guarded(self._fork),
            after_in_parent=lambda: self._guarded(self._forked),
            after_in_child=lambda: self._guarded(self._begin_child),
        )

    def fall_silent(self) -> None:
        """Stop reporting events."""
        self._actions.clear()
        self._restore_threads()
        self._starts.remove()
        self._waits.remove()
        self._emit = lambda event: None
        self._before_fork = list
        self._in_child = lambda fork: None

    def loaded(self, module: str) -> None:
        """Handle the loading of a module, and wrap the module that starts processes."""
        if module == FORK_EXEC:
            self._guarded(self._starts.wrap_fork_exec)

    def _tell(self, event: Event) -> None:
        if event["event"] == "exit" and event["pid"] in self._starts.own:
            self._starts.own.discard(event["pid"])
            return
        # `self._emit` is looked up at each event, because `fall_silent` replaces it.
        self._emit(event)

    def _guarded(self, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except Exception as error:
            self._trouble("fork", error)
            return None

    def _fork(self) -> None:
        states = self._before_fork()
        handed_on = self._handed_on(states)
        if self._starts.about_to_execute:
            return
        self._count += 1
        event: Event = {"event": "fork", "child": None, "number": self._count}
        event.update(
            {"stack": current(sys._getframe()), "states": states, "thread": thread_name(get_ident())}
        )
        event.update(handed_on)
        self._under_way[get_ident()] = {**event, "pid": os.getpid()}, youngest_child()
        self._emit(event)

    def _handed_on(self, states: list[Event]) -> Event:
        """Return what the child inherits and its purpose; nothing if that is unknown."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        return self._guarded(self.children.before, states, frame) or {}

    def _forked(self) -> None:
        """In the parent, report which process was forked, because the child may end before it can."""
        event, before = self._under_way.pop(get_ident(), (None, None))
        child = youngest_child()
        if event is not None and child is not None and child != before:
            self._starts.children[child] = start = start_of(child)
            self._emit({"event": "forked", "child": child, "number": event["number"], "start": start})

    def _begin_child(self) -> None:
        if self._starts.about_to_execute:
            # The child runs only its `preexec_fn`, and then becomes another program.
            self.fall_silent()
            return
        event, _ = self._under_way.pop(get_ident(), (None, None))
        self._under_way.clear()
        self._starts.forked()
        self._in_child(event)

    def _spawn_event(self, method: str, args: Any) -> Event:
        event: Event = {"event": "spawn", "child": None, "method": method, "command": _command(args)}
        return {**event, "stack": current(sys._getframe()), "states": self._states()}

    def _exec(self, arguments: tuple[Any, ...]) -> None:
        event: Event = {"event": "exec", "command": _command(arguments[1])}
        event.update(self._starts.about(python_at(arguments[0]), arguments[1], arguments[2]))
        self._emit({**event, "stack": current(sys._getframe()), "states": self._states()})

    def _putenv(self, arguments: tuple[Any, ...]) -> None:
        name = os.fsdecode(arguments[0])
        if name not in VISIBILITY:
            return
        what = f"{name}={redaction.value_of(name, os.fsdecode(arguments[1]))}"
        event: Event = {"event": "effect", "kind": "sets-visibility", "what": what}
        self._emit({**event, "stack": current(sys._getframe())})


def guard_threads(guarded: Callable[..., Any], started: Callable[[object], None]) -> Callable[[], None]:
    """Notice new threads in Pythons before 3.12, which raise no audit event; return a function that undoes
    this.
    """
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
        # Checked first, because Python raises dozens of events for each import, and few are handled here.
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
