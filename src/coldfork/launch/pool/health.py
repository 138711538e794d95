"""Report a pool's state: which workers are warm, which are not, and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from coldfork.launch.distribution import Distribution
from coldfork.launch.pool.errors import kind

FAILURES = ("raised", "timed-out", "killed", "worker-died", "memory-cap", "pool-broken")
"""The reasons for which a task may fail."""
ENDS = ("max-tasks", "max-memory", "memory-cap", "timed-out", "killed", "shutdown", "pool-broken", "died")
"""The reasons for which a worker may end; in all cases but the last the pool ended it."""


@dataclass(slots=True)
class Counts:
    """All counts of a pool since it was opened."""

    submitted: int = 0
    done: int = 0
    failed: int = 0
    """Tasks that raised, or whose worker died or was killed."""
    retried: int = 0
    """Tasks that were run again because their worker had died."""
    seconds: float = 0.0
    """Total running time of tasks."""
    started: int = 0
    """The number of workers that became ready."""
    start_seconds: float = 0.0
    """Total time that workers took to start."""
    failed_starts: int = 0
    ended: int = 0
    died: int = 0
    """Workers that died with a task without being ended by the pool."""
    recycled: int = 0
    """Workers that were replaced because they held too much memory."""
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    """How many tasks failed for each reason."""
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENDS, 0))
    """How many workers ended for each reason."""

    def count(self, error: BaseException | None) -> None:
        """Count a task that has ended, successfully or with this error."""
        if error is None:
            self.done += 1
        else:
            self.failed += 1
            self.failures[kind(error)] += 1

    def copied(self) -> Counts:
        """Return a copy of the current counts."""
        return replace(self, failures=dict(self.failures), ends=dict(self.ends))


class Durations:
    """Durations in seconds, counted once someone has asked for them; only the pool's thread adds to them."""

    __slots__ = ("starts", "tasks", "waits")

    def __init__(self) -> None:
        self.tasks: Distribution = Distribution()
        """From the moment when a worker begins a task to its answer."""
        self.waits: Distribution = Distribution()
        """From the submission of a task to the moment when a worker gets it."""
        self.starts: Distribution = Distribution()
        """From the request for a worker to the moment when it is ready."""


@dataclass(frozen=True, slots=True)
class PoolHealth:
    """The state of a pool at one moment."""

    workers: int
    """The number of workers that the pool should have."""
    warm: int
    """Workers that are ready for tasks or at work."""
    busy: int
    starting: int
    waiting: int
    """Tasks that no worker has begun."""
    failures: int
    """Why the most recent of these starts failed."""
    last_failure: str
    """Why the last of these starts failed."""
    broken: bool
    closed: bool
    pids: tuple[int, ...]
    """The processes of the warm workers."""
    counts: Counts

    @property
    def ok(self) -> bool:
        """Return whether a task submitted now would run."""
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
