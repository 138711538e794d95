"""A job: one transcript on its way to a note, and what the world is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """Where a job stands: queued, running, and one of four ends."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    """Its process was ended by a signal that did not come from the server."""
    CANCELLED = "cancelled"
    """Somebody did not want it any more."""


ENDS = frozenset({State.DONE, State.FAILED, State.KILLED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended."""

    state: State
    note: Mapping[str, Any] | None = None
    error: str | None = None
    signal: str | None = None
    process: Mapping[str, Any] | None = None
    """What is known of the process that did the work."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands in the database."""

    id: str
    state: State
    attempt: int
    """How often it was begun."""
    created: float
    started: float | None = None
    finished: float | None = None
    error: str | None = None
    signal: str | None = None
    note: Mapping[str, Any] | None = None
    process: Mapping[str, Any] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ENDS


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running job is, in steps: the engine, each passage, the summary."""

    done: int
    total: int

    @property
    def stage(self) -> str:
        """Return the current stage; there is no news before the engine is loaded."""
        return "punctuating" if self.done < self.total - 1 else "summarising"


def view(job: Job, progress: Progress | None) -> dict[str, Any]:
    """A job as it is shown to the world; the transcript itself is not given back."""
    running = job.state is State.RUNNING and progress is not None
    return {
        "id": job.id,
        "state": job.state,
        "attempt": job.attempt,
        "progress": {"stage": progress.stage, "done": progress.done, "total": progress.total}
        if running and progress is not None
        else None,
        "created": _stamp(job.created),
        "started": _stamp(job.started),
        "finished": _stamp(job.finished),
        "error": job.error,
        "signal": job.signal,
        "note": job.note,
        "process": job.process,
    }


def _stamp(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
