"""The figures of one pool, read from what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coldfork.launch.figures import measures
from coldfork.launch.figures.figure import Labels, Measure, Sample
from coldfork.launch.figures.telemetry import Telemetry

if TYPE_CHECKING:
    from coldfork.launch.pool.pool import WorkerPool


class WatchedPool:
    """A pool under its name. The pool is not kept, and what it has done is told when it is gone, too."""

    def __init__(self, name: str, pool: WorkerPool) -> None:
        self._label: Labels = (("pool", name),)
        self._durations, self._health = pool._measure()

    @property
    def is_open(self) -> bool:
        """Whether the pool takes tasks."""
        return not self._health().closed

    def tell(self, told: Telemetry) -> None:
        """Tell a meter each duration from now on."""
        self._durations.tasks.tell(told.hearer(measures.POOL_TASK_SECONDS, self._label))
        self._durations.waits.tell(told.hearer(measures.POOL_WAIT_SECONDS, self._label))
        self._durations.starts.tell(told.hearer(measures.POOL_START_SECONDS, self._label))

    def samples(self) -> Iterator[Sample]:
        """What the pool is at, and what it has done."""
        health = self._health()
        counts = health.counts
        yield from self._each(measures.POOL_TASKS, "outcome", {"done": counts.done, **counts.failures})
        yield Sample(measures.POOL_RETRIES, counts.retried, self._label)
        yield Sample(measures.POOL_TASK_SECONDS, self._durations.tasks.read(), self._label)
        yield Sample(measures.POOL_WAIT_SECONDS, self._durations.waits.read(), self._label)
        starts = {"ready": counts.started, "failed": counts.failed_starts}
        yield from self._each(measures.POOL_STARTS, "outcome", starts)
        yield Sample(measures.POOL_START_SECONDS, self._durations.starts.read(), self._label)
        yield from self._each(measures.POOL_ENDS, "reason", counts.ends)
        workers = {"idle": health.warm - health.busy, "busy": health.busy, "starting": health.starting}
        yield from self._each(measures.POOL_WORKERS, "state", workers)
        yield Sample(measures.POOL_QUEUE, health.waiting, self._label)

    def _each(self, measure: Measure, label: str, values: dict[str, int]) -> Iterator[Sample]:
        for value, count in values.items():
            yield Sample(measure, count, (*self._label, (label, value)))
