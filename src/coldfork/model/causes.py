"""The lines that wake a device, the modules that each line warms, and the fixes."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from coldfork.model.terms.grades import Applicability, Audience, Verdict
from coldfork.model.terms.modules import CheckedModule, Import


class Way(NamedTuple):
    """How importing a module leads to a cause: by its own line, or through the next module."""

    module: str
    path: str | None
    """None if the module itself contributes nothing, because its package, which is imported first, does."""
    line: int | None
    following: str | None
    """The next module on the way; None if the module's own line wakes the device."""
    sure: bool
    """True if neither any import on the way nor its end depends on a condition."""


class Line(NamedTuple):
    """A line of code, and the call in it."""

    path: str
    line: int
    call: str | None


@dataclass(frozen=True, slots=True)
class Cause:
    """A line with a waking call, or with an import of a waking package; and all its consequences."""

    id: str
    path: str
    line: int
    call: str | None
    """The call or import in the line; None if no device is concerned."""
    accelerator: str | None
    effect: str | None
    verdict: Verdict
    condition: str | None
    audience: Audience
    remedy: str
    findings: tuple[str, ...]
    """The ids of the findings that it causes, starting with the one to mend first."""
    ways: tuple[Way, ...] = ()
    """The checked modules whose import wakes the device because of it; the widest and nearest come first."""
    spares: tuple[str, ...] = ()
    """Modules that become cold if only this cause is mended; set for imports that have their own entry."""
    accepted: bool = False
    """True if the baseline accepts it, so that its findings here are new ways to an old cause."""
    then: tuple[Line, ...] = ()
    """Other waking lines that the same call reaches later, and never before this one."""
    turn: int = 0
    """When it happens, as a position in the import of the entries."""

    def counts(self, bar: Verdict, audiences: Set[Audience]) -> bool:
        """Return whether the cause is at least as sure as `bar` and concerns one of these audiences."""
        return self.verdict.rank >= bar.rank and self.audience in audiences

    @property
    def warms(self) -> int:
        """Return the number of checked modules that are warm after their import because of this cause."""
        return len(self.ways)

    @property
    def warms_certainly(self) -> int:
        """Return the number of checked modules that this cause warms under no condition."""
        return sum(way.sure for way in self.ways) if self.verdict is Verdict.CERTAIN else 0

    @property
    def outermost(self) -> tuple[Way, ...]:
        """Return the ways of modules outside warm packages, because a warm package warms all its modules."""
        warm = {way.module for way in self.ways}
        return tuple(way for way in self.ways if warm.isdisjoint(packages(way.module)))


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Text that replaces a span. Lines and columns count from 1, in code points; the end is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a cause; either all of them are applied or none."""

    cause: str
    """The id of the cause."""
    applicability: Applicability
    reason: str
    """Why it is not safe; empty if it is."""
    edits: tuple[Edit, ...]
    shares: frozenset[str] = frozenset()
    """The additions that other fixes may share: one fix is applied, and the next is drafted anew."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a cause has no fix, as a clause without a full stop."""

    cause: str
    reason: str


@cache
def packages(name: str) -> tuple[str, ...]:
    """Return the packages that contain a module, outermost first."""
    parts = name.split(".")
    return tuple([".".join(parts[:depth]) for depth in range(1, len(parts))])


__all__ = [
    "Applicability",
    "Audience",
    "Cause",
    "CheckedModule",
    "Edit",
    "Fix",
    "Import",
    "Line",
    "Refusal",
    "Way",
    "packages",
]
