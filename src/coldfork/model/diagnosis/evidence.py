"""What a story rests on: lines of the log, places in the program, and the processes that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Confidence(StrEnum):
    """How sure a story is."""

    CERTAIN = "certain"
    """The error itself was read, in the words and the type that its framework gives it."""
    LIKELY = "likely"
    """The words were read, but not the error around them; or something else could say the same."""
    POSSIBLE = "possible"
    """What was read fits, and would fit other failures too."""

    @property
    def rank(self) -> int:
        """Larger is surer."""
        return {"possible": 0, "likely": 1, "certain": 2}[self.value]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line of the log that a story rests on."""

    file: str | None
    """The log; None for standard input or the output of a command."""
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a program, and what it calls there."""

    path: str
    line: int | None
    call: str | None = None
    text: str = ""
    """The source line, where the log quotes it or the source is at hand."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line on the way to a device: of a stack that was seen, or of a chain in the sources."""

    path: str
    function: str
    """The function, or the class whose body it is; `<module>` for a line of no function."""
    text: str = ""
    """The source line; empty where nobody knows it."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A line that may be the cause, with the reason why and the chain from it to the device."""

    place: Place
    reason: str
    chain: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    """The lines of the chain, as versions are compared by them."""


@dataclass(frozen=True, slots=True)
class Participant:
    """One process of a story."""

    name: str | None
    pid: int | None
    role: str
    """`child` for one that was started by another, else `process`."""
    started: str | None = None
    """How it was started, as far as the log shows: fork, spawn or forkserver."""
    framework: str | None = None
    """What started it: multiprocessing, vLLM, a DataLoader of PyTorch, ..."""
    fork: Place | None = None
    """The line that started it; None where the log does not show it."""
