"""The state of an accelerator in one process, and who made it so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How far an accelerator's runtime has come in a process."""

    ABSENT = "absent"
    """Its library is not loaded."""
    COLD = "cold"
    """Its library is loaded and not initialised."""
    AWAKE = "awake"
    """It was initialised in this process."""
    POISONED = "poisoned"
    """This process was forked from one where it was awake."""
    UNKNOWN = "unknown"
    """It could not be found out; the reason says why."""


class Level(StrEnum):
    """How deep an accelerator was woken: the driver alone, or a context on a device too."""

    DRIVER = "driver"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Frame:
    """One Python frame of the stack in which a device was woken."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class ImportSite:
    """One import of a chain: the module being loaded, and the line in it that imported the next one."""

    module: str
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Waker:
    """The import-time site that woke a device: the same place that `coldfork check` would name."""

    module: str | None
    path: str | None
    line: int | None
    function: str | None
    call: str | None
    """The call that touched the device, as far as it was seen."""
    thread: str
    import_chain: tuple[ImportSite, ...] = ()
    """The imports in progress, outermost first."""
    stack: tuple[Frame, ...] = ()
    """From the module's own line to the call, outermost first; empty if only the module is known."""


@dataclass(frozen=True, slots=True)
class State:
    """One accelerator or fork-unsafe runtime in one process."""

    accelerator: str
    status: Status
    level: Level | None = None
    reason: str | None = None
    """Why the status is what it is; always given for `unknown` and `poisoned`."""
    library: str | None = None
    """The shared library or Python package that was asked."""
    waker: Waker | None = None
    survives_fork: bool = False
    """True when handlers of its own let a forked child go on without what this process has of it."""

    @property
    def unsafe_to_fork(self) -> bool:
        """True when a child forked now could not use this runtime, or when that cannot be ruled out."""
        if self.survives_fork:
            return False
        return self.status in (Status.AWAKE, Status.POISONED, Status.UNKNOWN)
