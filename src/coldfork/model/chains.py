"""The way from an import-time line to the call that wakes a device."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StepKind(StrEnum):
    """How a step was entered; the first step's kind is the position of its code, the last one is the sink."""

    MODULE = "module"
    CLASS_BODY = "class-body"
    DECORATOR = "decorator"
    DEFAULT_ARGUMENT = "default-argument"
    ANNOTATION = "annotation"
    COMPREHENSION = "comprehension"
    IMPORT = "import"
    CALL = "call"
    CONSTRUCT = "construct"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Step:
    """One frame of a chain: `symbol` takes the next step at `line` of `path`, whose source is `text`."""

    kind: StepKind
    symbol: str
    path: str | None = None
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps from an import-time site to a sink; the last step is the sink."""

    steps: tuple[Step, ...]

    @property
    def sink(self) -> Step:
        """The call, attribute or import that touches the accelerator."""
        return self.steps[-1]

    @property
    def by_import(self) -> bool:
        """True when the first step is an import: what wakes the device stands in another module."""
        return bool(self.steps) and self.steps[0].kind is StepKind.IMPORT

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names along the way: what stays the same when lines move."""
        return tuple(step.symbol for step in self.steps)
