"""How a pool stands, truthfully: who is warm, who is not, and why not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from coldfork.launch.distribution import Distribution
from coldfork.launch.pool.errors import kind

FAILURES = ("raised", "timed-out", "killed", "worker-died", "memory-cap", "pool-broken")
"""Why a task may fail."""
ENDS = ("max-tasks", "max-memory", "memory-cap", "timed-out", "killed", "shutdown", "pool-broken", "died")
"""Why a worker may end: all but the last are the pool's doing."""


@dataclass(slots=True)
class Counts:
    """What has happened in a pool since it began."""

    submitted: int = 0
    done: int = 0
    failed: int = 0
    """Tasks that raised, or whose worker died or was killed."""
    retried: int = 0
    """Tasks that were done again because their worker had died."""
    seconds: float = 0.0
    """How long tasks have run in all."""
    started: int = 0
    """Workers that became ready."""
    start_seconds: float = 0.0
    """How long their starts have taken in all."""
    failed_starts: int = 0
    ended: int = 0
    died: int = 0
    """Workers that died with a task, not of the pool's doing."""
    recycled: int = 0
    """Workers that were replaced for the memory that they held."""
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    """Why tasks have failed."""
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENDS, 0))
    """Why workers have ended."""

    def count(self, error: BaseException | None) -> None:
        """A task has ended, by this error if it failed."""
        if error is None:
            self.done += 1
        else:
            self.failed += 1
            self.failures[kind(error)] += 1

    def copied(self) -> Counts:
        """As they are now."""
        return replace(self, failures=dict(self.failures), ends=dict(self.ends))


class Durations:
    """In seconds; counted where somebody has asked, and added to by the pool's thread."""

    __slots__ = ("starts", "tasks", "waits")

    def __init__(self) -> None:
        self.tasks: Distribution = Distribution()
        """From when a worker began with a task to its answer."""
        self.waits: Distribution = Distribution()
        """From when a task was submitted to when a worker was given it."""
        self.starts: Distribution = Distribution()
        """From when a worker was asked for to when it was ready."""


@dataclass(frozen=True, slots=True)
class PoolHealth:
    """How a pool stands at one moment."""

    workers: int
    """So many there ought to be."""
    warm: int
    """Ready for tasks, or at one."""
    busy: int
    starting: int
    waiting: int
    """Tasks that nobody has begun with."""
    failures: int
    """Starts that have failed since the last one that did not."""
    last_failure: str
    """Why the last of them did."""
    broken: bool
    closed: bool
    pids: tuple[int, ...]
    """The processes of those that are warm."""
    counts: Counts

    @property
    def ok(self) -> bool:
        """Whether a task that is submitted now would be done."""
        return self.warm > 0 and not self.broken and not self.closed

    def __str__(self) -> str:
        parts = [f"{self.warm} warm"]
        if self.busy:
            parts[0] += f" ({self.busy} busy)"
        if self.starting:
            parts.append(f"{self.starting} starting")
        if self.failures:
            why = self.last_failure.strip().splitlines()
            parts.append(f"{self.failures} failed to start" + (f": {why[-1]}" if why else ""))
        if self.waiting:
            parts.append(f"{self.waiting} tasks waiting")
        return ", ".join(parts)
