"""The lines that wake a device, the modules that each line warms, and the fixes."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from coldfork.model.effects import Verdict


class Audience(StrEnum):
    """The users whom a module's import concerns; the widest audience comes first."""

    LIBRARY = "library"
    """All users who import the package."""
    SCRIPT = "script"
    """Users who start the program: it is not imported."""
    BUILD = "build"
    """Users who build or install the package."""
    EXAMPLE = "example"
    """Users who try an example, a benchmark or code from the documentation."""
    TEST = "test"
    """Developers who run the tests."""

    @property
    def rank(self) -> int:
        """The place in the order of audiences; a smaller rank is a wider audience."""
        return _RANKS[self.value]


_RANKS = {name: rank for rank, name in enumerate(("library", "script", "build", "example", "test"))}


class CheckedModule(NamedTuple):
    """One module of the checked code."""

    name: str
    path: str
    audience: Audience
    imported: bool
    """True when another checked module imports it."""
    file: str = ""
    """The module's file: an absolute path."""


class Import(NamedTuple):
    """An import through which a module becomes warm: importing `importer` runs the warm `target`."""

    importer: str
    path: str
    line: int
    target: str
    sure: bool
    """True when it is under no condition."""
    tried: bool = False
    """True inside a `try` that goes on without a missing library."""


class Way(NamedTuple):
    """The way from a module's import to a cause: through the module's own line, or the next module."""

    module: str
    path: str | None
    """None when the module does nothing itself: its package does, which is imported before it."""
    line: int | None
    following: str | None
    """The next module on the way; None where the module's own line wakes the device."""
    sure: bool
    """True when no import on the way is under a condition, and neither is its end."""


class Line(NamedTuple):
    """A line of code, and the call on it."""

    path: str
    line: int
    call: str | None


@dataclass(frozen=True, slots=True)
class Cause:
    """A line with a waking call, or with an import of a waking package, and all its consequences."""

    id: str
    path: str
    line: int
    call: str | None
    """The line's call or import; None where no device is concerned."""
    accelerator: str | None
    effect: str | None
    verdict: Verdict
    condition: str | None
    audience: Audience
    remedy: str
    findings: tuple[str, ...]
    """The ids of the findings that come from it, the one to mend first."""
    ways: tuple[Way, ...] = ()
    """The checked modules whose import wakes the device because of it: widest and nearest first."""
    spares: tuple[str, ...] = ()
    """Modules that stay cold when only this is mended; filled for imports that are an entry of their own."""
    accepted: bool = False
    """True when the baseline accepts it, so that its findings here are new ways to an old cause."""
    then: tuple[Line, ...] = ()
    """Lines that the same call reaches afterwards, and that wake the device too: never before this one."""
    turn: int = 0
    """When it happens, along the import of the entries."""

    def counts(self, bar: Verdict, audiences: Set[Audience]) -> bool:
        """Return whether the cause is at least as sure as `bar` and concerns one of these audiences."""
        return self.verdict.rank >= bar.rank and self.audience in audiences

    @property
    def warms(self) -> int:
        """Return how many checked modules are warm after their import because of this cause."""
        return len(self.ways)

    @property
    def warms_certainly(self) -> int:
        """Return how many checked modules this cause warms under no condition at all."""
        return sum(way.sure for way in self.ways) if self.verdict is Verdict.CERTAIN else 0

    @property
    def outermost(self) -> tuple[Way, ...]:
        """Return the ways of modules outside warm packages; a package that is warm warms its modules."""
        warm = {way.module for way in self.ways}
        return tuple(way for way in self.ways if warm.isdisjoint(packages(way.module)))


class Applicability(StrEnum):
    """Who may apply a fix."""

    SAFE = "safe"
    """`--fix`: the program behaves as before, except for when the device is woken."""
    UNSAFE = "unsafe"
    """`--fix=unsafe`: likely, but not certain, to be the same."""
    SHOWN = "shown"
    """Only the author: the last step is theirs."""

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank is safer."""
        return {"shown": 0, "unsafe": 1, "safe": 2}[self.value]


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A text that replaces a span. Lines and columns count from 1, in code points; the end is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a cause: all of them are applied, or none."""

    cause: str
    """The id of the cause."""
    applicability: Applicability
    reason: str
    """Why it is not safe; empty where it is."""
    edits: tuple[Edit, ...]
    group: str = ""
    """Of one group only one is applied at a time: the next is drafted anew and shares what it added."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a cause has no fix: a clause without a full stop."""

    cause: str
    reason: str


@cache
def packages(name: str) -> tuple[str, ...]:
    """Return the packages above a module, outermost first."""
    parts = name.split(".")
    return tuple([".".join(parts[:depth]) for depth in range(1, len(parts))])
