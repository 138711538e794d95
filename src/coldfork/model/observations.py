"""All that the static observer saw in one analysis: what rules get to judge."""

from __future__ import annotations

from dataclasses import dataclass

from coldfork.model.captures import CaptureEffect
from coldfork.model.effects import Effect


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be analysed, and why."""

    path: str
    line: int
    column: int
    reason: str
    own: bool = True


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A `# coldfork: ignore[rule] reason` comment."""

    path: str
    line: int
    column: int
    rules: tuple[str, ...]
    reason: str
    covers: tuple[int, int]
    """First and last line of the statement the comment stands on."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of one analysis."""

    modules: int
    """Checked modules and the modules of dependencies they import."""
    read: int
    """Files that were read and parsed in this run."""
    cached: int
    """Files whose summary came from the cache."""
    seconds: float
    own_modules: int = 0
    bytes_read: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything the static observer saw: what rules get to judge."""

    profile: str
    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    statistics: Statistics
    captured: tuple[CaptureEffect, ...] = ()
    """What happens in code that CUDA graphs capture."""
