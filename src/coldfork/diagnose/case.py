"""The material of a diagnosis: a log, coldfork's own notes in it, a recording, and the program's sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coldfork.diagnose.logs.records import Log, LoggedError
from coldfork.model.diagnosis import Place, Step, Suspect

Search = Callable[[Sequence[str]], tuple[Suspect, ...]]
Installed = Callable[[str, Sequence[str]], str | None]


@dataclass(frozen=True, slots=True)
class Waking:
    """The line that woke a device, as observed by coldfork: in a note in the log, or in a recording."""

    place: Place
    module: str | None
    line_number: int | None
    """The line of the log that reports it; None for a recording."""
    chain: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    """The steps from the line to the call that touched the device, if a recording has the stack."""


def no_search(paths: Sequence[str]) -> tuple[Suspect, ...]:
    """Return no suspects; the default search if no sources are available."""
    return ()


def none_installed(distribution: str, paths: Sequence[str]) -> str | None:
    """Return None; the default look-up of a version if no environment is available."""
    return None


@dataclass(frozen=True, slots=True)
class Case:
    """One log, with all other information that helps to explain it."""

    log: Log
    wakings: tuple[Waking, ...] = ()
    search: Search = no_search
    """Searches the sources for lines that wake a device, beginning with files that the log names."""
    fork: Place | None = None
    """The line that forked, if a recording has it."""
    installed: Installed = none_installed
    """Returns the version of a distribution in the environment that these files belong to."""

    def errors(self, kinds: Sequence[str]) -> tuple[LoggedError, ...]:
        """Return the errors in the log that are of these kinds."""
        return tuple(error for error in self.log.errors if error.kind in kinds)
