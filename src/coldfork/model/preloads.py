"""The result of `coldfork preload`: modules that a server may import ahead, and why not others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from coldfork.model.states import Frame, ImportSite

ENOUGH = 0.9
"""The share of a worker's import that a list should cover."""


class Stain(StrEnum):
    """Why a process must not fork after a module's import, or could not import the module."""

    DEVICE = "device"
    """It wakes a device, or a runtime that no forked child can use."""
    THREAD = "thread"
    """It leaves a thread running, which a fork does not copy."""
    PROCESS = "process"
    """It leaves a process running that every worker would take for its own."""
    CONNECTION = "connection"
    """It leaves something open that every worker would share."""
    LOCK = "lock"
    """It leaves a lock held, for which every worker would wait."""
    ENVIRONMENT = "environment"
    """It reads a variable that differs between workers."""
    SEEDS = "seeds"
    """It draws random numbers that would be the same in every worker, because the generator is not seeded
    again.
    """
    BREAKS = "breaks"
    """A child that was forked afterwards could not do its work."""
    RAISES = "raises"
    """Its import raises an error, after clean modules only."""
    ENDS = "ends"
    """Its import ends the process."""
    HANGS = "hangs"
    """Its import does not end in time."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A module that may be preloaded, as a forked child has shown."""

    module: str
    seconds: float
    """The processor time of its import, after the modules before it in the list."""
    tried: tuple[str, ...] = ()
    """The actions of a child that was forked afterwards."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A module that may not be preloaded."""

    module: str
    stain: Stain
    reason: str
    path: str | None = None
    line: int | None = None
    """The line of the module that is responsible, if it was seen."""
    call: str | None = None
    chain: tuple[ImportSite, ...] = ()
    """The imports that led there, outermost first, each with the line that requested the next one."""
    stack: tuple[Frame, ...] = ()
    seconds: float = 0.0
    """The processor time of its import, including everything that it imports."""


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A variable that is read or set by the import of a module in the list."""

    name: str
    module: str | None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A line that woke no device here but may wake one on other machines, according to `coldfork check`."""

    module: str
    accelerator: str | None
    verdict: str
    condition: str | None
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Preloading:
    """The result of one `coldfork preload`, for the renderers."""

    wanted: tuple[str, ...]
    """The modules that a worker imports."""
    device: str
    """`real`, `none`, or `virtual:` and its name."""
    python: str
    kept: tuple[Kept, ...]
    """The modules to preload, in the order of their import."""
    left_out: tuple[LeftOut, ...] = ()
    reads: tuple[VariableUse, ...] = ()
    writes: tuple[VariableUse, ...] = ()
    seeds: tuple[str, ...] = ()
    """Sources of random numbers that workers must seed besides the usual ones: module, colon and name."""
    doubts: tuple[Doubt, ...] = ()
    unread: str | None = None
    """Why the sources could not be read; None if they were."""
    total: float = 0.0
    """The processor time that a worker takes to import everything that it needs."""
    rest: float | None = None
    """The same time with the list preloaded; None if it is unknown."""
    trouble: str | None = None
    """How a worker failed that was forked with the list preloaded."""
    loaded: int = 0
    """The number of modules that are loaded when everything is imported."""
    file: str | None = None
    """The list that was checked; None if a new one was made."""
    listed: str | None = None
    """The file with the new list; None if it was not written."""
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The file behind each path; the paths are relative to the folder of the top-level package."""

    @property
    def share(self) -> float | None:
        """The share of a worker's import time that the list saves."""
        if self.rest is None or not self.total:
            return None
        return max(0.0, 1 - self.rest / self.total)

    @property
    def holds(self) -> bool:
        """Whether the list that was given to check is still clean."""
        return not self.left_out and self.trouble is None
