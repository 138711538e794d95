"""What `coldfork doctor` says: the answer of each check, and all of them together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


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
