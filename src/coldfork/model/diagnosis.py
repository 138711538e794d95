"""Stories that explain a log, checks of a machine, and the evidence for both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Confidence(StrEnum):
    """How certain a story is."""

    CERTAIN = "certain"
    """The log contains the error itself, in its framework's own words and type."""
    LIKELY = "likely"
    """The log contains the words, but not the error around them; or another program could say the same."""
    POSSIBLE = "possible"
    """The text fits, but would also fit other failures."""

    @property
    def rank(self) -> int:
        """The position in the order; a larger rank is more certain."""
        return {"possible": 0, "likely": 1, "certain": 2}[self.value]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line of the log on which a story is based."""

    file: str | None
    """The log file; None for standard input or the output of a command."""
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a program, and the call in it."""

    path: str
    line: int | None
    call: str | None = None
    text: str = ""
    """The source line, if the log quotes it or the source is at hand."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line on the way to a device, from a recorded stack or a chain in the sources."""

    path: str
    function: str
    """The function, or the class that has the line in its body; `<module>` for a line outside both."""
    text: str = ""
    """The source line; empty if it is unknown."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A line that may be the cause, with the reason for suspecting it, and its chain to the device."""

    place: Place
    reason: str
    chain: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    """The lines of the chain, in a form that can be compared between versions."""


@dataclass(frozen=True, slots=True)
class Participant:
    """One process in a story."""

    name: str | None
    pid: int | None
    role: str
    """`child` if another process started it, else `process`."""
    started: str | None = None
    """How it was started, as far as the log shows: fork, spawn or forkserver."""
    framework: str | None = None
    """The framework that started it: multiprocessing, vLLM, a DataLoader of PyTorch, ..."""
    fork: Place | None = None
    """The line that started it; None if the log does not show it."""


class Blame(StrEnum):
    """Why a story names a line."""

    CAUSE = "cause"
    """The line is what has to be changed."""
    MET = "met"
    """The line met a problem that an earlier line, not shown in the log, had caused."""


class Role(StrEnum):
    """The code that a line of a stack belongs to, such as the program or a library."""

    PROGRAM = "program"
    FRAMEWORK = "framework"
    DEVICE = "device"
    """The library that touches the device."""
    FORK = "fork"
    """The code that started the process."""


@dataclass(frozen=True, slots=True)
class Part:
    """A line of a stack, and the code that it belongs to."""

    role: Role
    place: Place
    owner: str | None = None
    """The package that contains the line; None for the program's own."""


@dataclass(frozen=True, slots=True)
class Story:
    """One known kind of failure as a log shows it."""

    name: str
    title: str
    confidence: Confidence
    cause: str
    """Why it happened, in one or two sentences."""
    processes: tuple[Participant, ...]
    culprit: Place | None
    suspects: tuple[Suspect, ...]
    evidence: tuple[Evidence, ...]
    remedies: tuple[str, ...]
    """The remedies, the best first."""
    alternatives: tuple[str, ...] = ()
    """Other possible explanations of the same lines."""
    next: str = ""
    """The command to type next."""
    accelerator: str | None = None
    blame: Blame = Blame.CAUSE
    """Why the story names its line."""
    parts: tuple[Part, ...] = ()
    """The lines of the stack, each with the code that it belongs to, outermost first."""


@dataclass(frozen=True, slots=True)
class Unexplained:
    """An error in the log that fits no known story, or a reason why part of the log was not read."""

    evidence: Evidence
    reason: str


@dataclass(frozen=True, slots=True)
class Onward:
    """The next step after a log that fits no story."""

    evidence: Evidence
    """The last error in the log or, without one, its last line."""
    whose: str
    """Whose error it is, as a sentence."""
    place: Place | None
    next: str
    """The command to type next."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The complete diagnosis of one or several logs."""

    stories: tuple[Story, ...]
    unexplained: tuple[Unexplained, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences about parts that were omitted, and why."""
    onward: Onward | None = None
    """How to continue; None if a story says it, or if nothing was read."""


class Health(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARN = "warn"
    """It works, but something will go wrong or be needlessly slow."""
    FAIL = "fail"
    """The thing that was checked does not work."""
    SKIPPED = "skipped"
    """It could not be judged, or there is nothing to judge; the message says why."""

    @property
    def rank(self) -> int:
        """The position in the order; a larger rank is worse."""
        return {"skipped": 0, "ok": 1, "warn": 2, "fail": 3}[self.value]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one check."""

    health: Health
    message: str
    remedies: tuple[str, ...] = ()
    """The remedies, the best first; present unless all is well."""
    details: tuple[str, ...] = ()
    """The facts behind the message."""


def ok(message: str, *details: str) -> Answer:
    """Return an answer that says that all is well."""
    return Answer(Health.OK, message, details=details)


def warn(message: str, *remedies: str, details: Iterable[str] = ()) -> Answer:
    """Return an answer that says that the thing works but may cause trouble."""
    return Answer(Health.WARN, message, remedies, tuple(details))


def fail(message: str, *remedies: str, details: Iterable[str] = ()) -> Answer:
    """Return an answer that says that the thing does not work."""
    return Answer(Health.FAIL, message, remedies, tuple(details))


def skipped(reason: str) -> Answer:
    """Return an answer that says that nothing could be judged."""
    return Answer(Health.SKIPPED, reason)


def together(answers: Iterable[Answer], well: Answer) -> Answer:
    """Return several answers combined into one, the worst first; if there are none, return `well`."""
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
    """The interpreter whose environment was examined; None if none was found next to the packages."""
    folders: tuple[str, ...] = ()
    """The folders of the environment's packages."""
    asked: tuple[str, ...] = ()
    """The checks that were named; empty if all were run."""
    named: str | None = None
    """The interpreter as the user named it; None if the user named none."""

    def count(self, health: Health) -> int:
        """Return how many checks had this result."""
        return sum(result.answer.health is health for result in self.results)

    def of(self, health: Health) -> tuple[CheckResult, ...]:
        """Return the checks that had this result."""
        return tuple(result for result in self.results if result.answer.health is health)
