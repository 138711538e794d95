"""A figure: what is measured, and what it was at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from coldfork.launch.distribution import Histogram

Labels: TypeAlias = tuple[tuple[str, str], ...]


class Kind(StrEnum):
    """How a figure changes."""

    COUNTER = "counter"
    """It only grows, from 0 on."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured."""

    name: str
    """As OpenTelemetry names it: `coldfork.pool.task.duration`."""
    kind: Kind
    unit: str
    """As UCUM writes it: `s` for seconds, `{task}` for a number of tasks."""
    help: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What a figure was at one moment, for one set of labels."""

    measure: Measure
    value: float | Histogram
    labels: Labels = ()


Snapshot: TypeAlias = tuple[Sample, ...]
