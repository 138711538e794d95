"""What a log tells: the known ways to fail in it, each with its culprit, evidence and remedies."""

from __future__ import annotations

from dataclasses import dataclass

from coldfork.model.diagnosis.evidence import Confidence, Evidence, Participant, Place, Suspect


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


@dataclass(frozen=True, slots=True)
class Unexplained:
    """An error in the log that belongs to no known story, or a reason why part of the log was not read."""

    evidence: Evidence
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything there is to say about one or several logs."""

    stories: tuple[Story, ...]
    unexplained: tuple[Unexplained, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, and why."""
