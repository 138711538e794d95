"""What was believed at one line while imports were followed: for whoever wonders at a finding, or at none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Belief:
    """An expression, and what it was taken for."""

    text: str
    value: str


@dataclass(frozen=True, slots=True)
class Touch:
    """What a statement was found to do to a device."""

    effect: str
    accelerator: str
    symbol: str
    """The call at the end of the way."""
    certain: bool
    condition: str | None


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that a statement was found to import."""

    module: str
    found: bool
    """Whether its source was there to be followed."""
    condition: str | None


@dataclass(frozen=True, slots=True)
class Visit:
    """One way in which a statement was come to."""

    importing: str
    """The module whose import was followed."""
    function: str
    """Where the statement stands: a function, a class, or the module itself."""
    condition: str | None
    """What has to hold for it to run; None where nothing has to."""
    presumed: tuple[str, ...]
    nominal: bool
    """False off the path that is taken on the assumed machine."""
    looked_up: bool
    """True where it was not run, because it only binds a name that somebody asked for."""
    beliefs: tuple[Belief, ...]
    touches: tuple[Touch, ...]
    imports: tuple[Imported, ...]
    ended: str
    """How following it ended, in words; empty where it went on behind it."""
    times: int = 1
    """How often the same was seen."""


@dataclass(frozen=True, slots=True)
class Trace:
    """All that was seen at a line."""

    path: str
    """The file, as it was named."""
    asked: int
    """The line that was asked about."""
    line: int
    """The line that is told of: that of the statement around it which was come to, or 0 where none was."""
    text: str
    """That line as it is written."""
    visits: tuple[Visit, ...]
    modules: int
    """How many modules were followed."""
    within: str = ""
    """The function that the line stands in."""
    unfinished: tuple[str, ...] = ()
    """Where following the modules of the visits ended too soon, in words."""
