"""Composes what watches a process: attribution, imports, calls and forks, all reporting to one sink."""

from __future__ import annotations

import os
import sys
from _thread import get_native_id
from time import monotonic

from coldfork.observe.attribution import Attribution
from coldfork.observe.forks import Forks
from coldfork.observe.imports import Imports
from coldfork.observe.recording import redaction
from coldfork.observe.stacks.loads import Load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from coldfork.observe.attribution import Sensor
    from coldfork.observe.calls import Calls
    from coldfork.observe.injection import Injection
    from coldfork.observe.recording.events import Event, Sink

MAIN = "__main__"
"""The name for what the main thread runs outside of imports."""

PASSER = "multiprocessing.util"
"""The module whose `spawnv_passfds` starts the processes of multiprocessing."""

_MOST_WAITING = 256
_LONGEST_WAIT = 0.25
"""After so many loads or seconds they are reported: a process that is killed takes the rest along."""

_NOT_WANTED = Load("", None, None, 0.0, None)
_TROUBLES = 20
"""So many failures of the watch are reported; one that fails at every import would fill a recording."""


class Watch:
    """A process being watched; `stop` ends it and puts everything back."""

    def __init__(
        self,
        sink: Sink,
        sensor: Sensor,
        states: Callable[[], Iterable[object]],
        remember: Callable[[], object],
        *,
        stage2: Collection[str] = (),
        follow: bool = False,
        base: str | None = None,
        began: float | None = None,
        imports: bool = True,
        outside: bool = True,
    ) -> None:
        self._sink = sink
        self._states = states
        self._remember = remember
        self._follow = follow
        self._tells_imports = imports
        self._began = monotonic() if began is None else began
        self._troubles = 0
        self._silent = False
        self._waiting: list[tuple[Load, float, int, int]] = []
        """Loads that have ended and are reported together a moment later: one by one, that costs most."""
        self._reported = 0.0
        self._restore: Callable[[], None] | None = None
        self.attribution = Attribution(sensor, self.emit, base, outside=outside)
        self.injection: Injection | None = None
        """CUDA's own account of who initialised it, where `bear_witness` was called."""
        self._calls: Calls | None = None
        if stage2:
            from coldfork.observe.calls import Calls

            self._calls = Calls(self.attribution, stage2, base, self.trouble)
        self._imports = Imports(
            self.attribution,
            self._imported,
            None if self._calls is None else self._calls.switch,
            trouble=self.trouble,
        )
        self._forks = Forks(
            self.emit,
            self.states,
            before_fork=self._before_fork,
            in_child=self._in_child,
            thread_started=self._thread_started,
            trouble=self.trouble,
        )

    def start(self) -> None:
        """Begin to watch."""
        if PASSER in sys.modules:
            self._guard_passer()
        self._imports.install()
        self._forks.listen()
        if self._calls is not None:
            self._calls.begin()

    def bear_witness(self, library: str) -> None:
        """Have CUDA itself tell who initialises it, through the injection library."""
        try:
            from coldfork.observe.injection import Injection

            injection = Injection(library)
            if injection.arm():
                self.injection = injection
                self.attribution.witness = injection.seen
        except Exception as error:
            self.trouble("injection", error)

    def stop(self) -> None:
        """End it: one last look, then everything is put back; what cannot be removed falls silent."""
        self.poll()
        self._silent = True
        if self._calls is not None:
            self._calls.end()
        self._imports.remove()
        self._forks.fall_silent()
        if self._restore is not None:
            self._restore()
        if self.injection is not None:
            self.injection.disarm()

    def look_closely(self, wanted: bool) -> None:
        """Where exact calls are sought outside of imports: seek them from now on, or no longer.

        For this thread, and until it is said otherwise.
        """
        if self._calls is not None:
            self._calls.switch(None if wanted else _NOT_WANTED)

    def poll(self) -> None:
        """Look now whether something woke."""
        try:
            self.attribution.poll()
        except Exception as error:
            self.trouble("poll", error)
        self._tell_imports()

    def states(self) -> list[Event]:
        """The state of every runtime now, as a recording holds it."""
        try:
            return [as_event(state) for state in self._states()]
        except Exception as error:
            self.trouble("states", error)
            return []

    def emit(self, event: Event) -> None:
        """Hand an event to the sink, with its time, process and thread."""
        if self._waiting:
            self._tell_imports()
        if self._silent:
            return
        event["t"] = round(monotonic() - self._began, 6)
        event["pid"] = os.getpid()
        event["tid"] = get_native_id()
        self._hand_over([event])

    def _hand_over(self, events: list[Event]) -> None:
        try:
            several = getattr(self._sink, "several", None)
            if several is not None:
                several(events)
                return
            for event in events:
                self._sink(event)
        except Exception as error:
            self._silent = isinstance(error, RecursionError)

    def _imported(self, load: Load, ended: float) -> None:
        """A load ended. It is reported now if the program comes to rest here, or if it is time again."""
        if load.name == PASSER:
            self._guard_passer()
        if not self._tells_imports:
            return
        waiting = self._waiting
        waiting.append((load, ended, os.getpid(), get_native_id()))
        if load.parent is None or len(waiting) >= _MOST_WAITING or ended - self._reported > _LONGEST_WAIT:
            self._tell_imports()

    def _tell_imports(self) -> None:
        waiting, here, events = self._waiting, os.getpid(), []
        while waiting:
            try:
                load, ended, pid, tid = waiting.pop()
            except IndexError:  # another thread was faster
                break
            # After a fork that Python did not see, the parent tells its own.
            if pid == here:
                events.append(imported(load, ended, self._began, pid, tid))
        self._reported = monotonic()
        if events and not self._silent:
            events.reverse()
            self._hand_over(events)

    def trouble(self, what: str, error: BaseException) -> None:
        """Tell that the watch itself failed somewhere; the program goes on."""
        self._troubles += 1
        if self._troubles <= _TROUBLES:
            self.emit({"event": "trouble", "what": what, "detail": f"{type(error).__name__}: {error}"[:300]})

    def process(self, how: str, command: Iterable[object] = ()) -> None:
        """Tell that this process begins, or that watching it begins."""
        self.emit(
            {
                "event": "process",
                "ppid": os.getppid(),
                "how": how,
                "command": redaction.command(command),
                "states": self.states(),
            }
        )

    def _before_fork(self) -> None:
        self.poll()
        self._remember()

    def _in_child(self) -> None:
        if not self._follow:
            self._silent = True
            self._imports.remove()
            self._forks.fall_silent()
            return
        self._waiting.clear()
        self.attribution.forked()
        if self.injection is not None:
            self.injection.forked()
        if self._calls is not None:
            self._calls.forked()
        self.process("fork")

    def _thread_started(self, work: object) -> None:
        # What the starting thread did until now cannot have been done by the new one.
        self.attribution.poll()
        self.attribution.thread_starts(work)

    def _guard_passer(self) -> None:
        util: Any = sys.modules[PASSER]
        original = util.spawnv_passfds
        wrapper = util.spawnv_passfds = self._forks.spawned_by_multiprocessing(original)

        def restore() -> None:
            if util.spawnv_passfds is wrapper:
                util.spawnv_passfds = original

        self._restore = restore


def watch(
    sink: Sink,
    *,
    stage2: Collection[str] = (),
    follow: bool = False,
    base: str | None = None,
    began: float | None = None,
    imports: bool = True,
    outside: bool = True,
    sensor: Sensor | None = None,
    states: Callable[[], Iterable[object]] | None = None,
    remember: Callable[[], object] | None = None,
) -> Watch:
    """Watch this process from here on; events go to `sink`, a callable that takes a dictionary.

    `stage2` names modules inside which the exact call is wanted. `base` is what runs outside of imports,
    where that is known (a program started to be watched: `"__main__"`). `follow` keeps watching in forked
    children. `imports` also tells every module loaded. The sensor, the states and what to remember before a
    fork are the real ones by default.
    """
    if sensor is None or states is None or remember is None:
        from coldfork.observe import states as real

        sensor = sensor if sensor is not None else real.Poller()
        # The readings it notes, and not `examine`, whose dataclasses a watched program may never have wanted.
        noted: Callable[[], Iterable[object]] = real.remember_for_children
        states = states if states is not None else noted
        remember = remember if remember is not None else noted
    watching = Watch(
        sink,
        sensor,
        states,
        remember,
        stage2=stage2,
        follow=follow,
        base=base,
        began=began,
        imports=imports,
        outside=outside,
    )
    watching.start()
    return watching


def imported(load: Load, ended: float, began: float, pid: int, tid: int) -> Event:
    """A load that has ended, as a recording holds it."""
    return {
        "event": "import",
        "module": load.name,
        "path": load.path,
        "start": load.start - began,
        "seconds": ended - load.start,
        "parent": load.parent.name if load.parent is not None else None,
        "t": ended - began,
        "pid": pid,
        "tid": tid,
    }


def as_event(state: Any) -> Event:
    """A state as a recording holds it."""
    if isinstance(state, dict):
        return state
    return {
        name: getattr(state, name, None) for name in ("accelerator", "status", "level", "reason", "library")
    }
