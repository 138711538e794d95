"""The state of an accelerator in one process, and the line that woke it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The progress of an accelerator's runtime in a process, such as cold or awake."""

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
    """The depth to which an accelerator was woken: only the driver, or a context on a device as well."""

    DRIVER = "driver"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Frame:
    """One Python frame of the stack that woke a device."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class ImportSite:
    """One import of a chain: a module being loaded, and its line that imported the chain's next module."""

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
        """True if a child forked now certainly or possibly could not use this runtime."""
        if self.survives_fork:
            return False
        return self.status in (Status.AWAKE, Status.POISONED, Status.UNKNOWN)
