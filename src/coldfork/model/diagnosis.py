"""Stories and checks, which are said about a log or a machine, and the evidence that they rest on."""

from __future__ import annotations

from collections.abc import Iterable
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


class Blame(StrEnum):
    """How the line that a story names is to blame."""

    CAUSE = "cause"
    """It is what has to be changed."""
    MET = "met"
    """It met what another line had caused before, which the log does not show."""


class Role(StrEnum):
    """Whose a line of a stack is."""

    PROGRAM = "program"
    FRAMEWORK = "framework"
    DEVICE = "device"
    """The library that touches the device."""
    FORK = "fork"
    """Whoever started the process."""


@dataclass(frozen=True, slots=True)
class Part:
    """A line of a stack, and the role that it plays in a story."""

    role: Role
    place: Place
    owner: str | None = None
    """The package in which it stands; None for the program's own."""


@dataclass(frozen=True, slots=True)
class Story:
    """One known way to fail, as this log tells it."""

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
    """What to do, the best first."""
    alternatives: tuple[str, ...] = ()
    """What else the same lines could mean."""
    next: str = ""
    """The command to type next."""
    accelerator: str | None = None
    blame: Blame = Blame.CAUSE
    """How the culprit is to blame."""
    parts: tuple[Part, ...] = ()
    """The lines of the stack with their roles, the outermost first."""


@dataclass(frozen=True, slots=True)
class Unexplained:
    """An error in the log that belongs to no known story, or a reason why part of the log was not read."""

    evidence: Evidence
    reason: str


@dataclass(frozen=True, slots=True)
class Onward:
    """How to go on from a log that tells no story."""

    evidence: Evidence
    """The last error in it; without one, its last line."""
    whose: str
    """Whose error it is, in a sentence."""
    place: Place | None
    next: str
    """The command to type next."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything there is to say about one or several logs."""

    stories: tuple[Story, ...]
    unexplained: tuple[Unexplained, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, and why."""
    onward: Onward | None = None
    """Where to go from here; None where a story says it, or nothing was read."""


class Health(StrEnum):
    """What a check found."""

    OK = "ok"
    WARN = "warn"
    """It works, and something will go wrong or be slow that need not."""
    FAIL = "fail"
    """What the check is about does not work."""
    SKIPPED = "skipped"
    """It could not be judged, or there is nothing here to judge; the message says why."""

    @property
    def rank(self) -> int:
        """Larger is worse."""
        return {"skipped": 0, "ok": 1, "warn": 2, "fail": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one check says."""

    health: Health
    message: str
    remedies: tuple[str, ...] = ()
    """What to do, the best first; given for all that is not well."""
    details: tuple[str, ...] = ()
    """What the message rests on."""


def ok(message: str, *details: str) -> Answer:
    """All is well."""
    return Answer(Health.OK, message, details=details)


def warn(message: str, *remedies: str, details: Iterable[str] = ()) -> Answer:
    """It works, and could bite."""
    return Answer(Health.WARN, message, remedies, tuple(details))


def fail(message: str, *remedies: str, details: Iterable[str] = ()) -> Answer:
    """It does not work."""
    return Answer(Health.FAIL, message, remedies, tuple(details))


def skipped(reason: str) -> Answer:
    """Nothing was judged."""
    return Answer(Health.SKIPPED, reason)


def together(answers: Iterable[Answer], well: Answer) -> Answer:
    """Several troubles as one answer, the worst first; `well` where there is none."""
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
    """One check, and what it said."""

    name: str
    group: str
    title: str
    answer: Answer
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Checkup:
    """Everything that the checks said."""

    results: tuple[CheckResult, ...]
    python: str | None = None
    """The interpreter whose environment was looked at; None where none was found beside its packages."""
    folders: tuple[str, ...] = ()
    """Where its packages lie."""
    asked: tuple[str, ...] = ()
    """The checks that were named; none when all were run."""
    named: str | None = None
    """The interpreter as the user named it; None where nobody did."""

    def count(self, health: Health) -> int:
        """How many checks came to this."""
        return sum(result.answer.health is health for result in self.results)

    def of(self, health: Health) -> tuple[CheckResult, ...]:
        """The checks that came to this."""
        return tuple(result for result in self.results if result.answer.health is health)
