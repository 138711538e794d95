"""Writes figures in Prometheus' text format, version 0.0.4; no library is needed for it.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import accumulate

from coldfork.launch.distribution import Histogram
from coldfork.launch.figures.figure import Kind, Labels, Measure, Sample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_UNITS = {"s": "seconds", "By": "bytes"}


def prometheus_text(samples: Iterable[Sample]) -> str:
    """The text that an endpoint answers with; a measure's samples stand together, as the format wants."""
    measures: dict[Measure, list[Sample]] = {}
    for sample in samples:
        measures.setdefault(sample.measure, []).append(sample)
    return "".join(
        f"{line}\n" for measure, of_it in measures.items() for line in _measure_lines(measure, of_it)
    )


def metric_name(measure: Measure) -> str:
    """What Prometheus calls a measure: with its unit, and `_total` behind what only grows."""
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
