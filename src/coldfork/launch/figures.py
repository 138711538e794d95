"""Count runs of scripts and tasks of pools, for monitoring with Prometheus or OpenTelemetry."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from coldfork.launch.distribution import BOUNDS, Distribution, Histogram
from coldfork.launch.script.result import Outcome, ScriptResult
from coldfork.model.errors import UsageError

if TYPE_CHECKING:
    from coldfork.launch.pool.pool import WorkerPool

Labels: TypeAlias = tuple[tuple[str, str], ...]
_UNITS = {"s": "seconds", "By": "bytes"}


class Kind(StrEnum):
    """The way in which a figure changes over time."""

    COUNTER = "counter"
    """It only grows, from 0 on."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that is measured."""

    name: str
    """Its name in OpenTelemetry: `coldfork.pool.task.duration`."""
    kind: Kind
    unit: str
    """Its unit in UCUM: `s` for seconds, `{task}` for a number of tasks."""
    help: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A figure's value at one moment, for one set of labels."""

    measure: Measure
    value: float | Histogram
    labels: Labels = ()


Snapshot: TypeAlias = tuple[Sample, ...]


SCRIPT_RUNS = Measure(
    "coldfork.script.runs", Kind.COUNTER, "{run}", "Isolated scripts that have ended, by how they ended."
)
SCRIPT_SECONDS = Measure(
    "coldfork.script.duration", Kind.HISTOGRAM, "s", "How long isolated scripts have run."
)
POOL_TASKS = Measure(
    "coldfork.pool.tasks", Kind.COUNTER, "{task}", "Tasks of a pool that have ended, by how they ended."
)
POOL_RETRIES = Measure(
    "coldfork.pool.retries", Kind.COUNTER, "{task}", "Tasks run again because their worker had died."
)
POOL_TASK_SECONDS = Measure(
    "coldfork.pool.task.duration", Kind.HISTOGRAM, "s", "How long tasks have run on their workers."
)
POOL_WAIT_SECONDS = Measure(
    "coldfork.pool.task.wait", Kind.HISTOGRAM, "s", "How long tasks have waited for a worker."
)
POOL_STARTS = Measure(
    "coldfork.pool.worker.starts", Kind.COUNTER, "{worker}", "Starts of workers, by whether they succeeded."
)
POOL_START_SECONDS = Measure(
    "coldfork.pool.worker.start.duration", Kind.HISTOGRAM, "s", "How long workers took to become ready."
)
POOL_ENDS = Measure(
    "coldfork.pool.worker.ends", Kind.COUNTER, "{worker}", "Workers that have ended, by the reason."
)
POOL_WORKERS = Measure(
    "coldfork.pool.workers", Kind.GAUGE, "{worker}", "Current workers, by what they are doing."
)
POOL_QUEUE = Measure("coldfork.pool.queue.length", Kind.GAUGE, "{task}", "Tasks that no worker has begun.")

SCRIPTS = (SCRIPT_RUNS, SCRIPT_SECONDS)
POOLS = (
    POOL_TASKS,
    POOL_RETRIES,
    POOL_TASK_SECONDS,
    POOL_WAIT_SECONDS,
    POOL_STARTS,
    POOL_START_SECONDS,
    POOL_ENDS,
    POOL_WORKERS,
    POOL_QUEUE,
)


def prometheus_text(samples: Iterable[Sample]) -> str:
    """Return these samples in Prometheus's text format, which keeps the samples of a measure together."""
    measures: dict[Measure, list[Sample]] = {}
    for sample in samples:
        measures.setdefault(sample.measure, []).append(sample)
    return "".join(
        f"{line}\n" for measure, of_it in measures.items() for line in _measure_lines(measure, of_it)
    )


def metric_name(measure: Measure) -> str:
    """Return a measure's name in Prometheus: with its unit, and `_total` at the end of a counter."""
    words = [measure.name.replace(".", "_"), _UNITS.get(measure.unit, "")]
    words.append("total" if measure.kind is Kind.COUNTER else "")
    return "_".join(filter(None, words))


def _measure_lines(measure: Measure, samples: list[Sample]) -> Iterator[str]:
    name = metric_name(measure)
    yield f"# HELP {name} {_escaped(measure.help)}"
    yield f"# TYPE {name} {measure.kind}"
    for sample in samples:
        if isinstance(sample.value, Histogram):
            yield from _histogram_lines(name, sample.value, sample.labels)
        else:
            yield f"{name}{_braces(sample.labels)} {_number(sample.value)}"


def _histogram_lines(name: str, histogram: Histogram, labels: Labels) -> Iterator[str]:
    bounds = (*histogram.bounds, math.inf)
    for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
        yield f"{name}_bucket{_braces((*labels, ('le', _number(bound))))} {count}"
    yield f"{name}_sum{_braces(labels)} {_number(histogram.sum)}"
    yield f"{name}_count{_braces(labels)} {histogram.count}"


def _braces(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_quoted(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


_READ = {Kind.COUNTER: "create_observable_counter", Kind.GAUGE: "create_observable_gauge"}


class Telemetry:
    """The instruments of one meter: counters and gauges are read from here, values for histograms are pushed
    to it.
    """

    def __init__(self, meter: Any, read: Callable[[], Snapshot]) -> None:
        if find_spec("opentelemetry") is None:
            raise UsageError("OpenTelemetry is not installed here: pip install 'coldfork[otel]'")
        self._histograms = {}
        for measure in (*SCRIPTS, *POOLS):
            texts = {"unit": measure.unit, "description": measure.help}
            if measure.kind in _READ:
                create = getattr(meter, _READ[measure.kind])
                create(measure.name, callbacks=[_callback(measure, read)], **texts)
            else:
                self._histograms[measure] = meter.create_histogram(
                    measure.name, explicit_bucket_boundaries_advisory=list(BOUNDS), **texts
                )

    def hearer(self, measure: Measure, labels: Labels = ()) -> Callable[[float], None]:
        """Return a function that records a value in the measure's histogram."""
        record, attributes = self._histograms[measure].record, dict(labels)

        def hear(value: float) -> None:
            # A meter that fails must not make the pool fail.
            with suppress(Exception):
                record(value, attributes)

        return hear


def _callback(measure: Measure, read: Callable[[], Snapshot]) -> Callable[[Any], list[Any]]:
    def observed(_: Any) -> list[Any]:
        from opentelemetry.metrics import Observation

        return [
            Observation(sample.value, dict(sample.labels)) for sample in read() if sample.measure is measure
        ]

    return observed


class WatchedPool:
    """A pool under the name given to `watch`. It does not keep the pool alive, and keeps the counts after the
    pool's end.
    """

    def __init__(self, name: str, pool: WorkerPool) -> None:
        self._label: Labels = (("pool", name),)
        self._durations, self._health = pool._measure()

    @property
    def is_open(self) -> bool:
        """Return whether the pool accepts tasks."""
        return not self._health().closed

    def tell(self, told: Telemetry) -> None:
        """Pass each duration that is measured from now on to this meter."""
        self._durations.tasks.tell(told.hearer(POOL_TASK_SECONDS, self._label))
        self._durations.waits.tell(told.hearer(POOL_WAIT_SECONDS, self._label))
        self._durations.starts.tell(told.hearer(POOL_START_SECONDS, self._label))

    def samples(self) -> Iterator[Sample]:
        """Yield samples of the pool's current state and of its counts."""
        health = self._health()
        counts = health.counts
        yield from self._each(POOL_TASKS, "outcome", {"done": counts.done, **counts.failures})
        yield Sample(POOL_RETRIES, counts.retried, self._label)
        yield Sample(POOL_TASK_SECONDS, self._durations.tasks.read(), self._label)
        yield Sample(POOL_WAIT_SECONDS, self._durations.waits.read(), self._label)
        starts = {"ready": counts.started, "failed": counts.failed_starts}
        yield from self._each(POOL_STARTS, "outcome", starts)
        yield Sample(POOL_START_SECONDS, self._durations.starts.read(), self._label)
        yield from self._each(POOL_ENDS, "reason", counts.ends)
        workers = {"idle": health.warm - health.busy, "busy": health.busy, "starting": health.starting}
        yield from self._each(POOL_WORKERS, "state", workers)
        yield Sample(POOL_QUEUE, health.waiting, self._label)

    def _each(self, measure: Measure, label: str, values: dict[str, int]) -> Iterator[Sample]:
        for value, count in values.items():
            yield Sample(measure, count, (*self._label, (label, value)))


class Figures:
    """Figures of scripts and pools, counted since this object was made; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Outcomes that have not occurred yet are listed as 0, so that monitoring sees the first one as an
        # increase.
        self._runs = Counter({str(outcome): 0 for outcome in Outcome})
        self._seconds = Distribution()
        self._pools: dict[str, WatchedPool] = {}
        self._meters: tuple[Telemetry, ...] = ()

    def add(self, result: ScriptResult) -> ScriptResult:
        """Count a finished script, and return its result."""
        with self._lock:
            self._runs[str(result.outcome)] += 1
            self._seconds.add(result.seconds)
        return result

    def watch(self, name: str, pool: WorkerPool) -> WorkerPool:
        """Include a pool in the figures under this name, measuring durations from now on; return the pool.

        This does not keep the pool alive. A name can be used again when its pool has shut down.
        """
        with self._lock:
            before = self._pools.get(name)
            if before is not None and before.is_open:
                raise UsageError(f"a pool is already watched as {name!r}; give this one another name")
            watched = self._pools[name] = WatchedPool(name, pool)
            for meter in self._meters:
                watched.tell(meter)
        return pool

    def snapshot(self) -> Snapshot:
        """Return the counts so far."""
        with self._lock:
            runs, seconds, pools = dict(self._runs), self._seconds.read(), tuple(self._pools.values())
        samples = [Sample(SCRIPT_RUNS, count, (("outcome", outcome),)) for outcome, count in runs.items()]
        samples.append(Sample(SCRIPT_SECONDS, seconds))
        for pool in pools:
            samples += pool.samples()
        return tuple(samples)

    def prometheus_text(self) -> str:
        """Return the figures in Prometheus's format, `text/plain; version=0.0.4`."""
        return prometheus_text(self.snapshot())

    def observe_with(self, meter: Any) -> None:
        """Let an OpenTelemetry meter read counters and gauges, and pass each duration to it from now on."""
        told = Telemetry(meter, self.snapshot)
        with self._lock:
            self._meters += (told,)
            self._seconds.tell(told.hearer(SCRIPT_SECONDS))
            for pool in self._pools.values():
                pool.tell(told)
