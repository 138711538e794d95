"""The caller's own clock: it ends a script whose time is up, even if its supervisor is stuck.

Normally the supervisor watches the time, ends the script politely and reports how it ended. A supervisor that
was stopped, as by SIGSTOP, does none of this, and its caller would wait for ever. So when the time is up, the
caller checks the supervisor. A stopped one is continued once; if that does not help, it is killed with all
its processes.
"""

from __future__ import annotations

import signal
from time import monotonic, sleep

from coldfork.launch.plumbing.linux import kernel

SLACK_SECONDS = 0.25
"""This clock runs later than the supervisor's by this much, so that a merely slow supervisor loses nothing.
"""
_AGAIN_SECONDS = 0.5
_HOPELESS_SECONDS = 15.0
"""This long after the grace period, nothing will end any more; a supervisor itself gives up earlier."""
_KILLING_SECONDS = 2.0
_AFTER_SECONDS = 0.01


class OwnClock:
    """The clock for one script: it tells when to check the supervisor, and acts if that is stuck."""

    def __init__(self, pid: int, timeout: float | None, grace: float) -> None:
        """`pid` is the supervisor's process number."""
        self._pid = pid
        self._timeout = timeout
        self._grace = grace
        self._began = monotonic()
        self._over: float | None = None
        self._next: float | None = None
        self._roused = False
        self.outcome: str | None = None
        """How the script ended, if the supervisor had to be killed."""
        self.note: str | None = None
        """A sentence about what happened to a supervisor that was stopped."""
        self._why = "timed-out"
        self.begin()

    @property
    def seconds(self) -> float:
        """Return for how many seconds the script has run."""
        return monotonic() - self._began

    def begin(self) -> None:
        """Record that the script begins now."""
        self._began = monotonic()
        if self._timeout is not None and self._why == "timed-out":
            self._set(self._began + self._timeout)

    def asked(self, why: str) -> None:
        """Record that the supervisor was asked to end the script."""
        now = monotonic()
        if self._over is None or self._over > now:
            self._why = why
            self._set(now)

    def _set(self, over: float) -> None:
        self._over = over
        self._next = over + SLACK_SECONDS

    def left(self) -> float | None:
        """Return the seconds until the next check; None if none is needed."""
        return None if self._next is None else max(0.0, self._next - monotonic())

    def look(self) -> None:
        """Check whether the supervisor is stuck. This may block briefly, so not for event loops."""
        now = monotonic()
        if self._over is None or self._next is None or now < self._next:
            return
        self._next = now + _AGAIN_SECONDS
        if now > self._over + self._grace + _HOPELESS_SECONDS:
            self._take_over("had not ended the script long after it should have")
        elif kernel.stands_still(self._pid):
            if self._roused:
                self._take_over("stood still, as after SIGSTOP, and could not be continued")
            else:
                self._rouse()

    def _rouse(self) -> None:
        self._roused = True
        self.note = (
            f"when the time was up, the script's supervisor (pid {self._pid}) stood still, as after "
            "SIGSTOP; it was continued"
        )
        kernel.signal_all([self._pid], signal.SIGCONT)

    def _take_over(self, why: str) -> None:
        """Kill the script, its processes and the supervisor; the caller notices the supervisor's end as
        usual.
        """
        self.outcome = self._why
        self.note = (
            f"when the time was up, the script's supervisor (pid {self._pid}) {why}; it was killed with all "
            "it had started"
        )
        until = monotonic() + _KILLING_SECONDS
        # The supervisor is killed last: while it exists it adopts every orphan, so none escapes.
        while monotonic() < until:
            below = [pid for pid in kernel.descendants(self._pid) if kernel.runs(pid)]
            if not below:
                break
            kernel.signal_all(below, signal.SIGKILL)
            sleep(_AFTER_SECONDS)
        kernel.signal_all([self._pid], signal.SIGKILL)
