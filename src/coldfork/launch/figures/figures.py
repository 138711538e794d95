"""Counts what scripts and pools do, for whoever made the object and hands it on."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from coldfork.launch.distribution import Distribution
from coldfork.launch.figures import measures, prometheus
from coldfork.launch.figures.figure import Sample, Snapshot
from coldfork.launch.figures.pools import WatchedPool
from coldfork.launch.figures.telemetry import Telemetry
from coldfork.launch.script.result import Outcome, ScriptResult
from coldfork.model.errors import UsageError

if TYPE_CHECKING:
    from coldfork.launch.pool.pool import WorkerPool


class Figures:
    """What scripts and pools do, from the moment that this was made; several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # What has not occurred is 0 and not unknown, so that the first of its kind is seen as one more.
        self._runs = Counter({str(outcome): 0 for outcome in Outcome})
        self._seconds = Distribution()
        self._pools: dict[str, WatchedPool] = {}
        self._meters: tuple[Telemetry, ...] = ()

    def add(self, result: ScriptResult) -> ScriptResult:
        """Count a script that has ended, and hand its result back."""
        with self._lock:
            self._runs[str(result.outcome)] += 1
            self._seconds.add(result.seconds)
        return result

    def watch(self, name: str, pool: WorkerPool) -> WorkerPool:
        """Have the figures of a pool under this name, its durations from now on; hands the pool back.

        The pool is not kept by it. A name is free again when its pool was shut down.
        """
        with self._lock:
            before = self._pools.get(name)
            if before is not None and before.is_open:
                raise UsageError(f"a pool is watched as {name!r} already; give this one another name")
            watched = self._pools[name] = WatchedPool(name, pool)
            for meter in self._meters:
                watched.tell(meter)
        return pool

    def snapshot(self) -> Snapshot:
        """What was counted so far."""
        with self._lock:
            runs, seconds, pools = dict(self._runs), self._seconds.read(), tuple(self._pools.values())
        samples = [
            Sample(measures.SCRIPT_RUNS, count, (("outcome", outcome),)) for outcome, count in runs.items()
        ]
        samples.append(Sample(measures.SCRIPT_SECONDS, seconds))
        for pool in pools:
            samples += pool.samples()
        return tuple(samples)

    def prometheus_text(self) -> str:
        """What an endpoint answers Prometheus with, as `text/plain; version=0.0.4`."""
        return prometheus.prometheus_text(self.snapshot())

    def observe_with(self, meter: Any) -> None:
        """Let a meter of OpenTelemetry read counters and gauges, and tell it each duration from now on."""
        told = Telemetry(meter, (*measures.SCRIPTS, *measures.POOLS), self.snapshot)
        with self._lock:
            self._meters += (told,)
            self._seconds.tell(told.hearer(measures.SCRIPT_SECONDS))
            for pool in self._pools.values():
                pool.tell(told)
