"""A rule's judgement on an effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from coldfork.model.observations import ChangeScope, Coverage, EnvironmentRead, Statistics, Unfinished
from coldfork.model.terms.machines import PROFILES

if TYPE_CHECKING:
    from coldfork.model.causes import Cause, Fix, Refusal
    from coldfork.model.effects import Ahead, Chain, StartedProgram
    from coldfork.model.probes import Proof
    from coldfork.model.terms.grades import Verdict


class Severity(StrEnum):
    """How serious a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confirmed(StrEnum):
    """The result of importing a finding's module in a fresh interpreter, or of running its program."""

    WOKEN = "woken"
    """The finding's line was seen to wake the device, or to do whatever else the finding says."""
    COLD = "cold"
    """The line has run, or the import or program has ended, and what the finding says did not happen."""
    NOT_TESTABLE = "not-testable"
    """The import or the run could not decide it."""


@dataclass(frozen=True, slots=True)
class Way:
    """Another chain of a finding, besides the main one."""

    role: str
    """The subject of the chain: `program`, `before` or `child`."""
    words: str
    """The same in words, for a heading."""
    chain: Chain
    effect: str | None = None
    """The event at its end; None if the chain leads to the finding's own line."""
    accelerator: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's statement about a line, with exactly the fields of the JSON output."""

    id: str
    rule: str
    severity: Severity
    verdict: Verdict
    condition: str | None
    presumed: tuple[str, ...]
    accelerator: str | None
    effect: str | None
    module: str
    path: str
    line: int
    column: int
    position: str | None
    test: bool
    message: str
    consequence: str
    """Why it matters, one sentence; the text output prints it after `=`."""
    remedy: str
    chain: Chain
    text: str = ""
    where: str = ""
    """The position of the code in words: `in the body of class Builder`."""
    end_line: int | None = None
    confirmed: str | None = None
    """A value of `Confirmed`; None if it was not tried."""
    confirmation: str = ""
    """The result if it was tried, or why it could not be, as a clause without a full stop."""
    cause: str = ""
    """The id of the cause that the finding comes from."""
    caret: int | None = None
    """The offset in `text` to which a caret points."""
    turn: int = 0
    """When it happens, as a position in the import of the entries or, without entries, of its module."""
    ahead: Ahead | None = None
    """The wake that always comes before it in the same function; that is where the cause is."""
    ways: tuple[Way, ...] = ()
    """Chains that belong to the finding besides its main one."""
    program: StartedProgram | None = None
    """The program that a user would run to reach the line; None for findings about imports alone."""

    def leads_to(self, cause: Cause) -> bool:
        """Return whether the finding's chain reaches a cause's line; later lines of a program may not."""
        chains = (self.chain,) if self.ahead is None else (self.ahead.chain, self.chain)
        place = cause.path, cause.line
        return any((step.path, step.line) == place for chain in chains for step in chain.steps)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not analysed."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one `coldfork check`, for the renderers."""

    profile: str
    """The assumed machine."""
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    statistics: Statistics
    known: int = 0
    """The number of findings that are in the baseline and therefore not listed."""
    gone: int = 0
    """The number of entries of the baseline that no finding matches any more."""
    ignored: int = 0
    """The number of findings suppressed by an ignore comment."""
    failing: int = 0
    """The number of causes that make the check fail."""
    scope: ChangeScope | None = None
    """The scope of `--changed-since`; None without that option."""
    environment: EnvironmentRead | None = None
    """Where the packages that the checked code imports are installed."""
    causes: tuple[Cause, ...] = ()
    """The causes of the findings; the widest audience first, then by place."""
    unfinished: tuple[Unfinished, ...] = ()
    """Modules that were not followed to their end."""
    coverage: Coverage = field(default_factory=Coverage)
    further: tuple[str, ...] = ()
    """Further machines that were checked for, because the code uses features that only they have."""
    fixes: Mapping[str, Fix | Refusal] = field(default_factory=dict)
    """For each cause, by id, its fix or why there is none; empty if fixes were not requested."""
    proof: Proof | None = None
    """The proof of the fixes that were applied; None without `--prove`."""

    @property
    def profiles(self) -> tuple[str, ...]:
        """Return the profiles of all machines for which the code was checked."""
        return self.profile, *self.further

    def profile_of(self, accelerator: str | None) -> str:
        """Return the profile under which this accelerator was checked."""
        having = (name for name in self.further if accelerator in PROFILES[name].accelerators)
        main = PROFILES.get(self.profile)
        if main is None or accelerator in main.accelerators:
            return self.profile
        return next(having, self.profile)
