"""What a story is told from: a log, what coldfork noted in it, and what a recording and the sources say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coldfork.diagnose.logs.records import Log, LoggedError
from coldfork.model.diagnosis import Place, Step, Suspect

Search = Callable[[Sequence[str]], tuple[Suspect, ...]]
Installed = Callable[[str, Sequence[str]], str | None]


@dataclass(frozen=True, slots=True)
class Waking:
    """Who woke a device, from somebody who saw it: a note of coldfork's in the log, or a recording."""

    place: Place
    module: str | None
    line_number: int | None
    """The line of the log that says so; None for a recording."""
    chain: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    """From the line to the call that touched the device, where a recording has the stack."""


def no_search(paths: Sequence[str]) -> tuple[Suspect, ...]:
    """No sources are at hand."""
    return ()


def none_installed(distribution: str, paths: Sequence[str]) -> str | None:
    """No environment is at hand."""
    return None


@dataclass(frozen=True, slots=True)
class Case:
    """One log with everything that helps to understand it."""

    log: Log
    wakings: tuple[Waking, ...] = ()
    search: Search = no_search
    """Looks in the sources for what wakes a device, the files that the log names first."""
    fork: Place | None = None
    """Where a recording saw the fork."""
    installed: Installed = none_installed
    """Knows the version of a distribution in the environment that these files belong to."""

    def errors(self, kinds: Sequence[str]) -> tuple[LoggedError, ...]:
        """The errors of these kinds."""
        return tuple(error for error in self.log.errors if error.kind in kinds)
