"""Stories that explain a log, checks of a machine, and the evidence for both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Confidence(StrEnum):
    """How certain a story is."""

    CERTAIN = "certain"
    """The error itself was read, in its framework's own words and type."""
    LIKELY = "likely"
    """The words were read, but not the error around them; or another program could say the same."""
    POSSIBLE = "possible"
    """The text fits, but would fit other failures too."""

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank is more certain."""
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
    """A line of a program, and the call on it."""

    path: str
    line: int | None
    call: str | None = None
    text: str = ""
    """The source line, where the log quotes it or the source is at hand."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line on the way to a device, from a recorded stack or from a chain in the sources."""

    path: str
    function: str
    """The function, or the class whose body it is; `<module>` for a line outside of functions."""
    text: str = ""
    """The source line; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A line that may be the cause, with the reason for the suspicion, and its chain to the device."""

    place: Place
    reason: str
    chain: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    """The lines of the chain, in the form in which versions are compared."""


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
    """The framework that started it: multiprocessing, vLLM, a DataLoader of PyTorch, ..."""
    fork: Place | None = None
    """The line that started it; None where the log does not show it."""


class Blame(StrEnum):
    """The kind of blame on the line that a story names."""

    CAUSE = "cause"
    """It is what has to be changed."""
    MET = "met"
    """It ran into what another line had caused before, which the log does not show."""


class Role(StrEnum):
    """The owner of a line of a stack, such as the program or a library."""

    PROGRAM = "program"
    FRAMEWORK = "framework"
    DEVICE = "device"
    """The library that touches the device."""
    FORK = "fork"
    """The code that started the process."""


@dataclass(frozen=True, slots=True)
class Part:
    """A line of a stack, and its role in a story."""

    role: Role
    place: Place
    owner: str | None = None
    """The package that contains it; None for the program's own."""


@dataclass(frozen=True, slots=True)
class Story:
    """One known kind of failure, as this log shows it."""

    name: str
    title: str
    confidence: Confidence
    cause: str
    """Why it happened, in a sentence or two."""
    processes: tuple[Participant, ...]
    culprit: Place | None
    suspects: tuple[Suspect, ...]
    evidence: tuple[Evidence, ...]
    remedies: tuple[str, ...]
    """Remedies, the best first."""
    alternatives: tuple[str, ...] = ()
    """Other possible meanings of the same lines."""
    next: str = ""
    """The command to type next."""
    accelerator: str | None = None
    blame: Blame = Blame.CAUSE
    """How the culprit is to blame."""
    parts: tuple[Part, ...] = ()
    """The lines of the stack with their roles, the outermost first."""


@dataclass(frozen=True, slots=True)
class Unexplained:
    """An error in the log that matches no known story, or a reason why part of the log was not read."""

    evidence: Evidence
    reason: str


@dataclass(frozen=True, slots=True)
class Onward:
    """The next step after a log that matches no story."""

    evidence: Evidence
    """The last error in it; without one, its last line."""
    whose: str
    """Whose error it is, in a sentence."""
    place: Place | None
    next: str
    """The command to type next."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The complete diagnosis of one or several logs."""

    stories: tuple[Story, ...]
    unexplained: tuple[Unexplained, ...] = ()
    notes: tuple[str, ...] = ()
    """The parts that were left out, and why."""
    onward: Onward | None = None
    """How to continue; None where a story says it, or nothing was read."""


class Health(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARN = "warn"
    """It works, but something will go wrong or be slow needlessly."""
    FAIL = "fail"
    """The checked thing does not work."""
    SKIPPED = "skipped"
    """It could not be judged, or there is nothing here to judge; the message says why."""

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank is worse."""
        return {"skipped": 0, "ok": 1, "warn": 2, "fail": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one check."""

    health: Health
    message: str
    remedies: tuple[str, ...] = ()
    """Remedies, the best first; given for everything that is not well."""
    details: tuple[str, ...] = ()
    """The facts behind the message."""


def ok(message: str, *details: str) -> Answer:
    """Return the answer that all is well."""
    return Answer(Health.OK, message, details=details)


def warn(message: str, *remedies: str, details: Iterable[str] = ()) -> Answer:
    """Return the answer that the checked thing works, but may cause trouble."""
    return Answer(Health.WARN, message, remedies, tuple(details))


def fail(message: str, *remedies: str, details: Iterable[str] = ()) -> Answer:
    """Return the answer that the checked thing does not work."""
    return Answer(Health.FAIL, message, remedies, tuple(details))


def skipped(reason: str) -> Answer:
    """Return the answer that the check could not judge anything."""
    return Answer(Health.SKIPPED, reason)


def together(answers: Iterable[Answer], well: Answer) -> Answer:
    """Return several answers combined into one, the worst first; `well` if there are none."""
    found = sorted(answers, key=lambda answer: -answer.health.rank)
    if not found:
        return well
    return Answer(
        found[0].health,
        "; ".join(answer.message for answer in found),
        tuple(dict.fromkeys(remedy for answer in found for remedy in answer.remedies)),
        tuple(dict.fromkeys(detail for answer in found for detail in answer.details)),
    )


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of a machine, and its answer."""

    name: str
    group: str
    title: str
    answer: Answer
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Checkup:
    """The answers of all checks."""

    results: tuple[CheckResult, ...]
    python: str | None = None
    """The interpreter whose environment was examined; None where none was found beside its packages."""
    folders: tuple[str, ...] = ()
    """The folders of its packages."""
    asked: tuple[str, ...] = ()
    """The checks that were named; none when all were run."""
    named: str | None = None
    """The interpreter as the user named it; None where the user named none."""

    def count(self, health: Health) -> int:
        """Return how many checks had this result."""
        return sum(result.answer.health is health for result in self.results)

    def of(self, health: Health) -> tuple[CheckResult, ...]:
        """Return the checks that had this result."""
        return tuple(result for result in self.results if result.answer.health is health)
