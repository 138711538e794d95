"""The watch of a process, composed of attribution, imports, calls and forks, which all report to one sink."""

from __future__ import annotations

import os
from _thread import get_native_id
from time import monotonic

from coldfork.observe.attribution import Attribution
from coldfork.observe.forking.touches import WRAPPED
from coldfork.observe.forks import Forks
from coldfork.observe.imports import Imports
from coldfork.observe.late_imports import LATE
from coldfork.observe.processes.identity import ancestors, command_line
from coldfork.observe.processes.starts import FORK_EXEC
from coldfork.observe.processes.table import start_of
from coldfork.observe.recording import redaction
from coldfork.observe.recording.events import as_event, as_events
from coldfork.observe.stacks.frames import EndedLoads, Load
from coldfork.observe.waking_calls import CALLS, WakingCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from coldfork.observe.attribution import Sensor
    from coldfork.observe.calls import Calls
    from coldfork.observe.injection import Injection
    from coldfork.observe.recording.events import Event, Sink

MAIN = "__main__"
"""The name for the code that the main thread runs outside of imports."""

_WANTED = WRAPPED.union(CALLS, (FORK_EXEC,))
"""The modules in which something is wrapped as soon as they are loaded."""
_NOT_WANTED = Load("", None, None, 0.0, None)
_TROUBLES = 20
"""The most failures of the watch that are reported; one at every import would fill a recording."""


class Watch:
    """A watch of this process, which begins at once; `stop` ends it and restores everything.

    `sink` is called with each event, a dictionary. `stage2` names modules in which the exact call is wanted.
    `base` names the code outside of imports, if it is known (`"__main__"` in a program that was started to be
    watched). With `follow`, forked children are watched too. With `imports`, every loaded module is reported,
    and with `ends`, how children end. `variable` is the environment variable without which a started Python
    is not watched. `born` is called in each forked child. By default, the real sensor and states are used,
    and the real function to record states before a fork.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        stage2: Collection[str] = (),
        follow: bool = False,
        base: str | None = None,
        began: float | None = None,
        imports: bool = True,
        outside: bool = True,
        ends: bool = False,
        variable: str = "",
        born: Callable[[], None] = lambda: None,
        sensor: Sensor | None = None,
        states: Callable[[], Iterable[object]] | None = None,
        remember: Callable[[], object] | None = None,
    ) -> None:
        if sensor is None or states is None or remember is None:
            from coldfork.observe import states as real

            sensor = real.Poller() if sensor is None else sensor
            # The readings, and not `examine`, because a watched program may not have loaded dataclasses.
            noted: Callable[[], Iterable[object]] = real.remember_for_children
            states = noted if states is None else states
            remember = noted if remember is None else remember
        self._sink = sink
        self._states = states
        self._remember = remember
        self._follow = follow
        self._tells_imports = imports
        self._began = monotonic() if began is None else began
        self._home = os.getpid()
        self._troubles = 0
        self._silent = False
        self._loads = EndedLoads()
        self._touched_in: int | None = None
        """The pid of a forked child that has reported a touch although it is not watched."""
        self._tells_ends = ends
        self._born = born
        self.attribution: Attribution = Attribution(sensor, self.emit, base, outside=outside)
        self._waking = WakingCalls(self.attribution, self.trouble)
        self.injection: Injection | None = None
        """CUDA's own account of who initialised it, if `bear_witness` was called."""
        self._calls: Calls | None = None
        if stage2:
            from coldfork.observe.calls import Calls

            self._calls = Calls(self.attribution, stage2, base, self.trouble)
        self._imports = Imports(
            self.attribution,
            self._imported,
            None if self._calls is None else self._calls.switch,
            trouble=self.trouble,
            traces=self._calls is not None,
        )
        self._forks = Forks(
            self.emit,
            self.states,
            before_fork=self._before_fork,
            in_child=self._in_child,
            thread_started=self._thread_started,
            trouble=self.trouble,
            touched=self._touched,
            variable=variable,
        )
        self._imports.install()
        self._waking.install()
        self._forks.listen(ends=self._tells_ends)
        if self._calls is not None:
            self._calls.begin()

    def bear_witness(self, library: str) -> None:
        """Have CUDA itself report the code that initialises it, through the injection library."""
        try:
            from coldfork.observe.injection import Injection

            injection = Injection(library)
            if injection.arm():
                self.injection = injection
                self.attribution.witness = injection.seen
        except Exception as error:
            self.trouble("injection", error)

    def stop(self) -> None:
        """End the watch: poll once more, then restore everything; parts that cannot be removed are
        silenced.
        """
        self.poll()
        self._silent = True
        if self._calls is not None:
            self._calls.end()
        self._imports.remove()
        self._waking.remove()
        self._forks.fall_silent()
        if self.injection is not None:
            self.injection.disarm()

    def look_closely(self, wanted: bool) -> None:
        """Start or stop looking for exact calls outside of imports, if the watch looks for exact calls.

        This applies to the calling thread, until it calls this again.
        """
        if self._calls is not None:
            self._calls.switch(None if wanted else _NOT_WANTED)

    def poll(self) -> None:
        """Check now whether something has woken."""
        try:
            self.attribution.poll()
        except Exception as error:
            self.trouble("poll", error)
        self._tell_imports()

    @property
    def program_began(self) -> bool:
        """Return whether Python has run any code of its main program."""
        return self._forks.beginning.begun

    def states(self) -> list[Event]:
        """Return the state of every runtime now, in a recording's form."""
        try:
            return [as_event(state) for state in self._states()]
        except Exception as error:
            self.trouble("states", error)
            return []

    def emit(self, event: Event) -> None:
        """Pass an event to the sink, with its time, process and thread."""
        if self._loads.waiting:
            self._tell_imports()
        if self._silent:
            return
        # An event with a duration has the moment when it began, and an event about an end has the number of
        # the process that ended.
        event["t"] = round(event.get("t", monotonic()) - self._began, 6)
        here = os.getpid()
        if here != self._home and self._follow:
            self._begin_child(None)
        event.setdefault("pid", here)
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

    def _touched(self, event: Event) -> None:
        """Report once that a forked child uses something that its parent held, even if children are not
        watched.
        """
        if self._follow:
            self.emit(event)
            return
        self._silent = False
        try:
            if self._touched_in != os.getpid():
                self._touched_in = os.getpid()
                born: Event = {"event": "process", "ppid": os.getppid(), "how": "fork", "command": []}
                self.emit({**born, "states": []})
            self.emit(event)
        finally:
            self._silent = True

    def _imported(self, load: Load, ended: float) -> None:
        """Record that a load has ended; if it is time, report it and earlier ones."""
        if load.name in _WANTED:
            self._forks.loaded(load.name)
            self._forks.children.loaded(load.name)
            self._waking.loaded(load.name)
        if self._tells_imports and not LATE.here and self._loads.add(load, ended):
            self._tell_imports()

    def _tell_imports(self) -> None:
        ended = self._loads.take(self._began)
        if not ended or self._silent:
            return
        written = getattr(self._sink, "imports", None)
        if written is None:
            self._hand_over(as_events(ended))
        else:
            written(ended)

    def trouble(self, what: str, error: BaseException) -> None:
        """Report that the watch itself failed somewhere; the program continues."""
        self._troubles += 1
        if self._troubles <= _TROUBLES:
            detail = redaction.text(f"{type(error).__name__}: {error}")[:300]
            self.emit({"event": "trouble", "what": what, "detail": detail})

    def process(
        self, how: str, command: Iterable[object] = (), *, since: int | None = None, by: int | None = None
    ) -> None:
        """Report that this process begins, or that watching it begins.

        `since` is when the watch of the whole program began, in the kernel's ticks: ancestors that started
        after it are reported, too. `by` is the nearest watched ancestor, for a process whose parent has
        already ended.
        """
        above = [
            {"pid": kin.pid, "start": kin.start, "command": redaction.command(command_line(kin.pid))}
            for kin in ancestors(since)
        ]
        born: Event = {"event": "process", "ppid": os.getppid(), "start": start_of(), "how": how}
        born.update({"command": redaction.command(command), "ancestors": above, "by": by})
        self.emit({**born, "states": self.states()})

    def _before_fork(self) -> list[Event]:
        """Return the state of every runtime for the recording, and record it for the child."""
        self.poll()
        if self._remember is not self._states:
            self._remember()
        return self.states()

    def _in_child(self, fork: Event | None) -> None:
        if not self._follow:
            self._silent = True
            self._imports.remove()
            self._forks.fall_silent()
            return
        self._loads.waiting.clear()
        self.attribution.forked()
        if self.injection is not None:
            self.injection.forked()
        if self._calls is not None:
            self._calls.forked()
        self._begin_child(fork)

    def _begin_child(self, fork: Event | None) -> None:
        """Report that this process was forked; without `fork`, by C code that Python did not see."""
        self._home = os.getpid()
        born: Event = {"event": "process", "ppid": os.getppid(), "start": start_of(), "how": "fork"}
        if fork is not None:
            # The parent may have ended already, and another process may have adopted this one.
            born.update({"ppid": fork["pid"], "of": fork["number"]})
        self.emit({**born, "command": [], "states": self.states()})
        self._born()

    def _thread_started(self, work: object) -> None:
        # Poll first, so that the new thread is not suspected of what this thread did before.
        self.attribution.poll()
        self.attribution.thread_starts(work)


watch = Watch
