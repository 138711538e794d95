"""All that the analysis found out about one line, for `--trace`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Belief:
    """An expression, and the value that the analysis assumed for it."""

    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Touch:
    """A device that a statement touches, according to the analysis."""

    effect: str
    accelerator: str
    symbol: str
    """The call at the end of the chain."""
    certain: bool
    condition: str | None


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that a statement imports, according to the analysis."""

    module: str
    found: bool
    """Whether its source was at hand to be followed."""
    condition: str | None


@dataclass(frozen=True, slots=True)
class Visit:
    """One way in which the analysis reached a statement."""

    importing: str
    """The module whose import was followed."""
    function: str
    """The code that contains the statement: a function, a class, or the module itself."""
    condition: str | None
    """The condition under which it runs; None if it always does."""
    presumed: tuple[str, ...]
    nominal: bool
    """False if it is off the path that is taken on the assumed machine."""
    looked_up: bool
    """True if it was not run, because it merely binds a name that was looked up."""
    beliefs: tuple[Belief, ...]
    touches: tuple[Touch, ...]
    imports: tuple[Imported, ...]
    ended: str
    """How the analysis ended there, in words; empty if it continued after the statement."""
    times: int = 1
    """How often this was seen."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that the analysis found out about one line."""

    path: str
    """The file as the user named it."""
    asked: int
    """The line that the user asked about."""
    line: int
    """The line that is reported: that of the enclosing statement that was reached, or 0 if none was."""
    text: str
    """The source text of the reported line."""
    visits: tuple[Visit, ...]
    modules: int
    """The number of modules that were followed."""
    within: str = ""
    """The function that contains the line."""
    unfinished: tuple[str, ...] = ()
    """Where the analysis of the visited modules ended too soon, in words."""
