"""Hands figures to a meter of OpenTelemetry; the meter is the caller's, and so is its package."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from coldfork.launch.distribution import BOUNDS
from coldfork.launch.figures.figure import Kind, Labels, Measure, Snapshot
from coldfork.model.errors import UsageError

_READ = {Kind.COUNTER: "create_observable_counter", Kind.GAUGE: "create_observable_gauge"}


class Telemetry:
    """The instruments of one meter: counters and gauges that it reads, histograms that are told."""

    def __init__(self, meter: Any, measures: Iterable[Measure], read: Callable[[], Snapshot]) -> None:
        if find_spec("opentelemetry") is None:
            raise UsageError("OpenTelemetry is not installed here: pip install 'coldfork[otel]'")
        self._histograms = {}
        for measure in measures:
            texts = {"unit": measure.unit, "description": measure.help}
            if measure.kind in _READ:
                create = getattr(meter, _READ[measure.kind])
                create(measure.name, callbacks=[_callback(measure, read)], **texts)
            else:
                self._histograms[measure] = meter.create_histogram(
                    measure.name, explicit_bucket_boundaries_advisory=list(BOUNDS), **texts
                )

    def hearer(self, measure: Measure, labels: Labels = ()) -> Callable[[float], None]:
        """What is to be called with each value."""
        record, attributes = self._histograms[measure].record, dict(labels)

        def hear(value: float) -> None:
            # A pool must not fail for want of a figure.
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
