"""Run an isolated script in the foreground of a terminal, as if it had been started directly."""

from __future__ import annotations

import fcntl
import os
import signal

from coldfork.launch.plumbing.terminal import Continued, Ending, Stopped, attend
from coldfork.launch.script.attempts import Attempts, place, put_back, told_of_descriptors
from coldfork.launch.script.following import Following, start
from coldfork.launch.script.outcome import Outcome, explained
from coldfork.launch.script.plan import prepare
from coldfork.launch.supervisor.report_file import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from coldfork.knowledge.troubles import Trouble
    from coldfork.launch.plumbing.terminal import Signals
    from coldfork.launch.script.request import Progress, ScriptRequest

_STDIN = 0
LOST = 1
"""The exit status if nobody knows how the script ended."""


class Foreground:
    """The outcome of a script that was run in the foreground."""

    def __init__(
        self, ending: Ending, run_dir: Path, report: Report, no_report: str | None, notes: tuple[str, ...]
    ) -> None:
        self.ending = ending
        self.run_dir = run_dir
        self.outcome: str = report.outcome or "lost"
        self.left_behind: tuple[str, ...] = tuple(report.left_behind or ())
        self.exception: Mapping[str, Any] | None = report.exception
        """The exception that ended it."""
        self.caps: Mapping[str, Any] | None = report.caps
        """The script's limits, and how much of each it used."""
        self.cold_because: str | None = report.cold_because
        """Why no server started the script, if one was requested."""
        self.no_report = no_report
        """Why no report is kept."""
        self.notes = notes
        """Problems with the run: a report that could not be written, a supervisor that was stopped."""

    @property
    def complaint(self) -> str | None:
        """Return a complaint if no program could be told the cap on device memory."""
        from coldfork.launch.supervisor.limits import device_complaint

        return device_complaint(self.caps)

    def explained(self) -> str:
        """Return one sentence on how the script ended."""
        return explained(Outcome(self.outcome), self.ending.status, None, self.caps)

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Return the known troubles that the script's exception reveals; its output is not available here."""
        if self.exception is None:
            return ()
        from coldfork.launch.script.result import troubles_of

        return troubles_of(self.exception)


_ASKING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
"""A user who sends one of these signals wants the script to end, and not to be run again."""


def run(request: ScriptRequest, on_progress: Progress, tell: Callable[[str], object]) -> Foreground:
    """Run a script to its end, with this process's standard streams and in its process group.

    After each attempt that is followed by another, `tell` is called with a line about it.
    """
    attempts = Attempts(request.retries, tell)
    beginning = place(_STDIN) if request.retries else None
    while True:
        received: set[int] = set()
        with told_of_descriptors():
            done, report = _run(request, on_progress, attempts, received)
        if received & _ASKING or not attempts.goes_on(report):
            return done
        put_back(_STDIN, beginning)


def _run(
    request: ScriptRequest, on_progress: Progress, attempts: Attempts, received: set[int]
) -> tuple[Foreground, Report]:
    """Make one attempt; return its outcome and report, and add the signals that arrive to `received`."""
    prepared = prepare(request, attempts.made)
    script: _Script | None = None

    def begin(signals: Signals) -> _Script:
        nonlocal script
        script = _Script(
            Following(prepared, start(prepared, mask=signals.mask, forked=True), on_progress, captured=False)
        )
        return script

    try:
        ending = attend(begin, received=received.add)
        assert script is not None
        following = script.following
        report = following.conclude(captured=False) or Report({})
    finally:
        prepared.directory.discard()
    directory = prepared.directory
    done = Foreground(ending, directory.path, report, directory.no_report, following.notes)
    return done, report


class _Script:
    """A script that is waited for by reading its supervisor's messages."""

    def __init__(self, following: Following) -> None:
        self.following = following
        self.apart = not following.supervised.parent
        socket = following.supervised.socket
        socket.setblocking(False)
        if self.apart:
            # The supervisor is not our child, so have its messages, and its end, send us SIGCHLD.
            fcntl.fcntl(socket, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(socket, fcntl.F_SETSIG, signal.SIGCHLD)
            fcntl.fcntl(socket, fcntl.F_SETFL, fcntl.fcntl(socket, fcntl.F_GETFL) | os.O_ASYNC)
            # A message may have come before the signal was set up, so send one signal by hand.
            os.kill(os.getpid(), signal.SIGCHLD)

    def news(self) -> Iterator[Stopped | Continued | Ending]:
        """Yield the news that the supervisor has sent since the last call."""
        while True:
            try:
                message = self.following.supervised.receive()
            except BlockingIOError:
                return
            goes_on = self.following.take(message)
            match message:
                case {"is": "stopped", "signal": number}:
                    yield Stopped(number)
                case {"is": "continued"}:
                    yield Continued()
                case {"is": "ended", "status": status, "signal": number}:
                    yield Ending(status, number)
                case None | {"is": "refused"}:
                    yield Ending(LOST, None)
            if not goes_on:
                return

    def left(self) -> float | None:
        """Return the seconds until our own deadlines must be checked."""
        return self.following.clock.left()

    def look(self) -> None:
        """Check whether the supervisor is stuck, and take over if it is."""
        self.following.clock.look()

    def hand_on(self, number: int) -> None:
        """Have the supervisor send the script a signal."""
        self.following.supervised.hand_on(number)
