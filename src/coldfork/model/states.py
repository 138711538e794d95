"""The state of an accelerator in one process, and the line that woke it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The state of an accelerator's runtime in a process."""

    ABSENT = "absent"
    """Its library is not loaded."""
    COLD = "cold"
    """Its library is loaded but not initialised."""
    AWAKE = "awake"
    """It was initialised in this process."""
    POISONED = "poisoned"
    """This process was forked from one in which it was awake."""
    UNKNOWN = "unknown"
    """It is unknown; the reason says why."""


class Level(StrEnum):
    """How far an accelerator was woken: only the driver, or also a context on a device."""

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
    """One import of a chain: a module being loaded, and its line that imports the next module of the
    chain.
    """

    module: str
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Waker:
    """The import-time site that woke a device: the place that `coldfork check` would name, too."""

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
    """The reason for the status; always given for `unknown` and `poisoned`."""
    library: str | None = None
    """The shared library or Python package that was examined."""
    waker: Waker | None = None
    survives_fork: bool = False
    """True if its own fork handlers let a child continue without what the parent has of it."""

    @property
    def unsafe_to_fork(self) -> bool:
        """True if a child forked now certainly or possibly could not use this runtime."""
        if self.survives_fork:
            return False
        return self.status in (Status.AWAKE, Status.POISONED, Status.UNKNOWN)
