"""Results of importing modules in fresh interpreters, for `coldfork probe` and `check --prove`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from coldfork.model.states import Frame, Level, Waker


class ProbeStatus(StrEnum):
    """The result of one import."""

    COLD = "cold"
    """The import ended, and no device is awake."""
    WOKEN = "woken"
    """The import woke a device, whatever happened afterwards."""
    FAILED = "failed"
    """The import did not complete: an exception, a crash, an exit, the time limit."""
    UNKNOWN = "unknown"
    """The import ended, but it is unknown whether a device is awake."""


@dataclass(frozen=True, slots=True)
class Wake:
    """One accelerator or fork-unsafe runtime that woke during an import."""

    accelerator: str
    level: Level | None
    module: str | None
    """The module that was being loaded; None if this is unknown."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended an import."""

    type: str
    message: str
    stack: tuple[Frame, ...] = ()
    """Outermost first; the last frame raised the exception."""


@dataclass(frozen=True, slots=True)
class ModuleProbe:
    """The effects of importing one module."""

    module: str
    status: ProbeStatus
    reason: str | None = None
    """Why it failed or is unknown; for a woken module, what is unknown about it."""
    accelerator: str | None = None
    level: Level | None = None
    """How far the accelerator is awake after the import."""
    woken_to: Level | None = None
    """How far the waking line itself woke it, if a closer look has seen that."""
    waker: Waker | None = None
    """The import-time site that woke it first."""
    text: str = ""
    """The source text of the waker's line."""
    wakes: tuple[Wake, ...] = ()
    """Everything that woke, in order, including runtimes that do not survive a fork."""
    failure: Failure | None = None
    output: str = ""
    """The end of what the import printed; kept if the import failed."""
    output_cut: bool = False
    file: str | None = None
    """The file from which the module was loaded; None if it is unknown."""
    asleep: bool = False
    """Whether every device was seen to be cold when the import ended, however it ended."""
    modules_loaded: int | None = None
    """How many modules the import loaded; None if it did not complete."""
    seconds: float = 0.0
    values: Mapping[str, tuple[str, bool]] | None = None
    """The contents of its public names, each with whether it is complete; None if this was not requested."""

    @property
    def judged(self) -> bool:
        """Whether the probe could decide if the import wakes a device."""
        return self.status in (ProbeStatus.COLD, ProbeStatus.WOKEN)


@dataclass(frozen=True, slots=True)
class Probing:
    """The result of one `coldfork probe`, for the renderers."""

    device: str
    """`real`, `none`, or `virtual:` and its name."""
    modules: tuple[ModuleProbe, ...]
    python: str = ""
    """The interpreter that imported them."""
    seconds: float = 0.0
    forked: bool = False
    """Whether the modules were imported in forked children."""
    left: tuple[str, ...] = ()
    """The modules about which nothing is known because the probe was interrupted."""
    interrupted: bool = False
    """Whether the probe was interrupted; the results until then are here."""
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The file behind each path; the paths are relative to the folder of the top-level package."""

    @property
    def status(self) -> ProbeStatus:
        """The verdict on all modules together: `woken` overrides `unknown`, which overrides `cold`."""
        if any(probe.status is ProbeStatus.WOKEN for probe in self.modules):
            return ProbeStatus.WOKEN
        return ProbeStatus.COLD if all(probe.judged for probe in self.modules) else ProbeStatus.UNKNOWN


class Outcome(StrEnum):
    """The verdict on a fix, from imports or tests before and after it."""

    PROVEN = "proven"
    """The import woke a device and is cold now, and the module has the same contents as before."""
    REFUTED = "refuted"
    """The import still wakes a device, or something has changed."""
    NOT_TESTABLE = "not-testable"
    """It cannot be decided."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """A public name whose value has changed; None stands for a missing name."""

    name: str
    before: str | None
    after: str | None
    is_import: bool = False
    """True if an import bound it that the fix has moved."""


@dataclass(frozen=True, slots=True)
class ModuleProof:
    """The imports of a mended module before and after the fix."""

    module: str
    path: str
    reason: str = ""
    """Why it was not tested; empty if it was."""
    before: ModuleProbe | None = None
    after: ModuleProbe | None = None
    same: int = 0
    """The number of public names whose contents are unchanged."""
    alike: int = 0
    """The number of public names of whose contents only the types could be compared."""
    changes: tuple[NameChange, ...] = ()

    @property
    def _is_woken_elsewhere(self) -> bool:
        """Whether a line of another file woke the device first, both before and after the fix."""
        before, after = (None if seen is None else seen.waker for seen in (self.before, self.after))
        if before is None or after is None or after.path is None:
            return False
        return after.path != self.path and (before.path, before.line) == (after.path, after.line)

    @property
    def outcome(self) -> Outcome:
        """Return the verdict on the fix."""
        if self.reason or self.before is None or self.after is None:
            return Outcome.NOT_TESTABLE
        if any(not change.is_import for change in self.changes):
            return Outcome.REFUTED
        if self.after.status is ProbeStatus.WOKEN:
            return Outcome.NOT_TESTABLE if self._is_woken_elsewhere else Outcome.REFUTED
        if self.after.status is ProbeStatus.FAILED and self.before.status is not ProbeStatus.FAILED:
            # If the import also failed before the fix, after waking the device, it got as far as before.
            return Outcome.REFUTED if self.before.failure is None else Outcome.NOT_TESTABLE
        # An import that wakes nothing after the fix proves nothing if it woke nothing before.
        is_seen = (self.before.status, self.after.status) == (ProbeStatus.WOKEN, ProbeStatus.COLD)
        return Outcome.PROVEN if is_seen else Outcome.NOT_TESTABLE


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a run of the project's own tests."""

    status: int | None
    """The exit status; None if a signal or the time limit ended the tests."""
    said: str
    """The last line that they printed, or what ended them."""


@dataclass(frozen=True, slots=True)
class TestsProof:
    """The project's own tests, before and after the fix."""

    __test__ = False  # otherwise pytest would take this class for a test

    command: str
    before: CommandEnd
    after: CommandEnd

    @property
    def outcome(self) -> Outcome:
        """Return the verdict on the fix."""
        if self.after.status == 0:
            return Outcome.PROVEN
        return Outcome.REFUTED if self.before.status == 0 else Outcome.NOT_TESTABLE


@dataclass(frozen=True, slots=True)
class Proof:
    """The evidence that `--prove` gathered about the fixes."""

    device: str
    """The device on which the imports ran: `virtual:` and its name."""
    mended: int
    """The number of causes that the fixes mend."""
    left: int
    """The number of causes that a check still finds afterwards."""
    modules: tuple[ModuleProof, ...]
    tests: TestsProof | None = None
    interrupted: bool = False

    @property
    def refuted(self) -> bool:
        """Whether the imports or the tests speak against the fixes."""
        tests = () if self.tests is None else (self.tests.outcome,)
        return Outcome.REFUTED in (*(module.outcome for module in self.modules), *tests)

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """Return the number of modules with each outcome."""
        found = [module.outcome for module in self.modules]
        return {outcome: found.count(outcome) for outcome in Outcome}
