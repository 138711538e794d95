"""Opt-in retries: which ends of a script are followed by another attempt, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from logging import getLogger
from typing import Any

from coldfork.launch.script.result import Outcome, how
from coldfork.model.errors import UsageError

AGAIN = frozenset({Outcome.FAILED, Outcome.KILLED, Outcome.TIMED_OUT, Outcome.OVER_MEMORY, Outcome.OVER_CPU})
"""Whoever cancels a script wants no other attempt, and of one that was lost nobody knows what it has done."""


def warn(line: str) -> None:
    """Say something to whoever runs this program: on standard error, unless it has set up logging."""
    getLogger("coldfork").warning(line)


class Attempts:
    """The attempts at one script."""

    def __init__(self, retries: int, tell: Callable[[str], object] = warn) -> None:
        given: object = retries
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise UsageError(f"retries is how often a script may be run again, and not {retries!r}")
        self.most = retries + 1
        self.made: tuple[Mapping[str, Any], ...] = ()
        """How those before ended, as reports list them."""
        self._tell = tell

    def goes_on(self, report: Mapping[str, Any]) -> bool:
        """Whether there is another attempt after the one of this report; if so, it has been said."""
        self.made = tuple(report.get("attempts") or ())
        outcome = Outcome(report.get("outcome") or Outcome.LOST)
        number = len(self.made)
        if outcome not in AGAIN or not 0 < number < self.most:
            return False
        said = how(outcome, report.get("status"), report.get("signal"), report.get("caps"))
        seconds = report.get("seconds") or 0.0
        self._tell(f"attempt {number} of {self.most} {said} after {seconds:.1f} s; again")
        return True
