"""The small process between a caller and a script, which lets no process of the script outlive it.

It is started by exec and has one thread, so that the death signals that it sets are reliable. It adopts the
processes that the script's own processes leave behind. It ends the script when the time is up, when the
caller asks it to, or when the caller dies, and reports how everything ended. Its descriptors: 3 is the
caller, 4 the plan, 5 the lock on the run directory, which shows that it is running.
"""

from __future__ import annotations

import os
from _signal import (
    SIG_BLOCK,
    SIG_SETMASK,
    SIGABRT,
    SIGBUS,
    SIGCHLD,
    SIGCONT,
    SIGFPE,
    SIGILL,
    SIGKILL,
    SIGSEGV,
    SIGTERM,
    SIGTRAP,
    pthread_sigmask,
    set_wakeup_fd,
    signal,
    valid_signals,
)
from time import monotonic, time

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import Loop
from coldfork.launch.plumbing.spawn import Refused
from coldfork.launch.plumbing.streams import close_above, fill_closed_streams, let_go_of_streams
from coldfork.launch.supervisor.protocol import CONTROL, LOCK, Caller, SupervisedRun, apart, read_plan
from coldfork.launch.supervisor.pumps import Output, Pump, ScriptChannel, drain
from coldfork.launch.supervisor.start import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from coldfork.launch.supervisor.capping import Capping

LINGER_SECONDS = 0.5
"""How long processes that the script leaves behind may take to end by themselves, as multiprocessing's
helpers do.
"""
_LAST_SECONDS = 10.0
"""After this time, processes that SIGKILL has not ended are left, and named in the report."""
_AGAIN_SECONDS = 0.02
_DRAIN_BYTES = 1 << 24


class Supervisor:
    """The supervisor of one script."""

    def __init__(
        self,
        plan: SupervisedRun,
        caller: Caller,
        begin: Callable[[list[int], int], int],
        process: int | None = None,
    ) -> None:
        """`begin` starts the script with its outputs and its channel, and returns the script's pid.

        `process` is a pidfd of the caller, if the supervisor is not the caller's child.
        """
        self._plan = plan
        self._caller = caller
        self._start = begin
        self._process = process
        self._loop = Loop()
        self._outputs: list[Output] = []
        self._channel: ScriptChannel | None = None
        self._script = 0
        self._began = 0.0
        self._ended = 0.0
        self._status: int | None = None
        self._peak = 0
        self._why: str | None = None
        self._killing_since = 0.0
        self._left: list[str] = []
        self._unreachable: list[int] = []
        self._alone = False
        self._capping = _capping(plan)

    def run(self) -> None:
        """Supervise until no process is left, and report how the script ended."""
        try:
            self._listen()
            self._begin()
        except Refused as refused:
            self._caller.tell({"is": "refused", "what": refused.what, "errno": refused.errno})
            return
        except OSError as error:
            self._caller.tell({"is": "refused", "what": "supervisor", "errno": error.errno})
            return
        while not self._alone:
            self._loop.turn()
        self._conclude()

    def _listen(self) -> None:
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal(SIGCHLD, lambda number, frame: None)
        pthread_sigmask(SIG_SETMASK, all_but(SIGCHLD))
        self._loop.watch(reading, lambda: self._children_changed(reading))
        self._loop.watch(CONTROL, self._hear)
        caller = self._process
        if caller is None:
            try:
                caller = os.pidfd_open(self._plan.caller)
            except (OSError, AttributeError):
                return
        # The socket does not show whether the caller is alive, as a forked child may hold its end open; a
        # pidfd does.
        self._loop.watch(caller, self._caller_died)
        if self._process is None and os.getppid() != self._plan.caller:
            self._caller_died()

    def _begin(self) -> None:
        plan = self._plan
        self._channel = ScriptChannel(self._caller)
        descriptors = [-1, -1]
        if plan.captured:
            self._outputs = [
                Output(plan.folder, name, plan.most_output, self._caller if plan.streamed else None)
                for name in ("stdout", "stderr")
            ]
            descriptors = [output.writing for output in self._outputs]
        self._began = monotonic()
        self._script = self._start(descriptors, self._channel.writing)
        if not plan.captured:
            let_go_of_streams()
        for pump in self._pumps():
            pump.begun()
            self._loop.watch(pump.reading, self._pumping(pump))
        self._caller.tell({"is": "started", "pid": self._script})
        if plan.timeout is not None:
            self._loop.at(self._began + plan.timeout, self._time_is_over)
        if self._capping is not None:
            if self._capping.must_not_be_late:
                kernel.come_first()
            self._loop.at(self._began, self._look_at_caps)

    def _pumps(self) -> list[Pump]:
        assert self._channel is not None
        return [*self._outputs, self._channel]

    def _pumping(self, pump: Pump) -> Callable[[], None]:
        def action() -> None:
            if not pump.pump():
                self._loop.forget(pump.reading)

        return action

    # --- incoming messages ---

    def _hear(self) -> None:
        words = self._caller.heard()
        if words is None:
            self._caller_died()
        elif words[0] == "end":
            self._end(words[1])
        elif words[0] == "kill":
            self._end(words[1], grace=0.0)
        elif words[0] == "signal" and self._status is None:
            kernel.signal_all([self._script], int(words[1]))

    def _caller_died(self) -> None:
        self._loop.forget(CONTROL)
        self._loop.forget_all(self._caller_died)
        self._end("caller-died", grace=min(1.0, self._plan.grace))

    def _children_changed(self, wakeup: int) -> None:
        try:
            while os.read(wakeup, 4096):
                pass
        except BlockingIOError:
            pass
        self._see_children()

    def _see_children(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                self._alone = True
                return
            if pid == 0:
                return
            self._one_changed(pid, status, used)

    def _one_changed(self, pid: int, status: int, used: Any) -> None:
        if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
            if pid == self._script:
                stopped = os.WSTOPSIG(status) if os.WIFSTOPPED(status) else None
                self._caller.tell({"is": "stopped" if stopped else "continued", "signal": stopped})
            return
        self._peak = max(self._peak, used.ru_maxrss * 1024)
        if self._capping is not None:
            self._capping.ended += used.ru_utime + used.ru_stime
        if pid == self._script:
            self._status = status
            self._ended = monotonic()
            if self._why is None:
                self._loop.at(self._ended + LINGER_SECONDS, self._end_the_rest)

    def _time_is_over(self) -> None:
        # A supervisor that was stopped for a while may notice the timeout and the script's end at the same
        # time.
        self._see_children()
        self._end("timed-out")

    def _look_at_caps(self) -> None:
        capping = self._capping
        assert capping is not None
        over, at_once = capping.look(lambda: kernel.descendants(os.getpid()))
        if over is not None and at_once:
            if self._status is None:
                self._why = self._why or over
            self._kill()
        elif over is not None and self._why is None:
            self._end(over)
        self._loop.at(monotonic() + capping.pause, self._look_at_caps)

    # --- ending ---

    def _end(self, why: str, grace: float | None = None) -> None:
        """End the script and all its processes: first by SIGTERM, then by SIGKILL."""
        if self._status is not None and self._why is None:
            self._end_the_rest()
        elif self._why is None:
            self._why = why
            self._ask()
        elif grace is None:
            return
        self._loop.at(monotonic() + (self._plan.grace if grace is None else grace), self._kill)

    def _end_the_rest(self) -> None:
        left = kernel.descendants(os.getpid())
        if not left or self._left:
            return
        self._left = [kernel.name(pid) for pid in left]
        self._ask()
        self._loop.at(monotonic() + self._plan.grace, self._kill)

    def _ask(self) -> None:
        below = kernel.descendants(os.getpid())
        kernel.signal_all(below, SIGTERM)
        # A stopped process handles SIGTERM only when it continues.
        kernel.signal_all(below, SIGCONT)

    def _kill(self) -> None:
        now = monotonic()
        self._killing_since = self._killing_since or now
        below = kernel.descendants(os.getpid())
        if now - self._killing_since > _LAST_SECONDS:
            self._unreachable = below
            self._alone = True
            return
        kernel.signal_all(below, SIGKILL)
        self._loop.at(now + _AGAIN_SECONDS, self._kill)

    # --- reporting ---

    def _conclude(self) -> None:
        assert self._channel is not None
        for pump in self._pumps():
            drain(pump, _DRAIN_BYTES)
            pump.finish()
        over = None if self._capping is None else self._capping.conclude()
        for output in self._outputs:
            self._caller.hand_over(output.name, output.kept)
        self._plan.conclude(
            self._caller,
            ended=time(),
            seconds=(self._ended or monotonic()) - self._began,
            pid=self._script,
            status=self._status,
            why=self._why or over,
            caps=None if self._capping is None else self._capping.account(),
            peak=self._peak,
            left=self._left,
            unreachable=self._unreachable,
            heard=self._channel.heard,
            output={output.name: output.counted() for output in self._outputs},
        )
        status, number = apart(self._status)
        self._caller.tell({"is": "ended", "status": status, "signal": number})
        if not self._caller.there:
            self._plan.left_alone()


def _capping(plan: SupervisedRun) -> Capping | None:
    """Return the enforcement of the script's caps; its module is loaded only if there are caps."""
    if plan.caps is None:
        return None
    from coldfork.launch.supervisor.capping import Capping

    capping = Capping(plan.caps, plan.mark, plan.caller)
    plan.entrance = capping.entrance
    return capping


def all_but(*spared: int) -> set[int]:
    """Return the signals that a supervisor blocks: all except these, and except those for its own faults."""
    faults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}
    return set(map(int, valid_signals())) - faults - set(spared)


def main() -> None:
    """Run the supervisor's process."""
    pthread_sigmask(SIG_BLOCK, all_but())
    fill_closed_streams()
    plan = read_plan()
    if plan.captured:
        close_above(LOCK)
    supervise(plan)


def supervise(plan: SupervisedRun) -> NoReturn:
    """Run a supervisor in this process, which must hold only the descriptors that a supervisor needs."""
    control = kernel.process_control()
    kernel.adopt_orphans(control)
    # A caller at a terminal sleeps until a signal comes, so SIGCHLD announces each message.
    waker = (lambda: kernel.signal_all([plan.caller], SIGCHLD)) if plan.at_terminal else None

    def begin(outputs: list[int], channel: int) -> int:
        return start(plan, outputs, channel, control)

    Supervisor(plan, Caller(waker), begin).run()
    os._exit(0)
