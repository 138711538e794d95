"""What `coldfork preload` found: the modules that a server may import ahead, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from coldfork.model.states import Frame, ImportSite

ENOUGH = 0.9
"""The share of a worker's import that a list should cover."""


class Stain(StrEnum):
    """Why a process that has imported a module must not be forked, or why it could not import it."""

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
    """It reads a variable that each worker has its own of."""
    SEEDS = "seeds"
    """It draws random numbers that would be the same in every worker, and nobody seeds them anew."""
    BREAKS = "breaks"
    """A child that was forked afterwards could not do its work."""
    RAISES = "raises"
    """Its import raises, when nothing but what was found clean is imported before."""
    ENDS = "ends"
    """Its import ends the process."""
    HANGS = "hangs"
    """Its import does not end in time."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A module that may be preloaded, proven in a fork."""

    module: str
    seconds: float
    """The processor time of its import, after those before it in the list."""
    tried: tuple[str, ...] = ()
    """What a child that was forked afterwards has done."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A module that may not be preloaded."""

    module: str
    stain: Stain
    reason: str
    path: str | None = None
    line: int | None = None
    """The line of the module that does it, where that was seen."""
    call: str | None = None
    chain: tuple[ImportSite, ...] = ()
    """The imports that led there, outermost first, each with the line that asked for the next."""
    stack: tuple[Frame, ...] = ()
    seconds: float = 0.0
    """The processor time of its import, with all that it imports."""


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A variable that was read or set while a module of the list was imported."""

    name: str
    module: str | None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A line that did not wake a device here, and may elsewhere, as `coldfork check` reads it."""

    module: str
    accelerator: str | None
    verdict: str
    condition: str | None
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Preloading:
    """The result of one `coldfork preload`: what the renderers get."""

    wanted: tuple[str, ...]
    """What a worker imports."""
    device: str
    """`real`, `none`, or `virtual:` and its name."""
    python: str
    kept: tuple[Kept, ...]
    """In the order in which they are to be imported."""
    left_out: tuple[LeftOut, ...] = ()
    reads: tuple[VariableUse, ...] = ()
    writes: tuple[VariableUse, ...] = ()
    seeds: tuple[str, ...] = ()
    """What holds random numbers to come beyond what is always seeded anew: module, colon and name."""
    doubts: tuple[Doubt, ...] = ()
    unread: str | None = None
    """Why the sources could not be read, where they could not."""
    total: float = 0.0
    """The processor time that a worker needs to import all that it wants."""
    rest: float | None = None
    """What it needs when the list was preloaded; None when that is not known."""
    trouble: str | None = None
    """What a worker could not do that was forked with the list preloaded."""
    loaded: int = 0
    """How many modules importing all of it loads."""
    file: str | None = None
    """The list that was checked; None when a new one was made."""
    listed: str | None = None
    """Where the new one is written; None when nowhere."""
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The file behind each path: paths are relative to the folder that holds the top package."""

    @property
    def share(self) -> float | None:
        """How much of a worker's import the list spares it."""
        if self.rest is None or not self.total:
            return None
        return max(0.0, 1 - self.rest / self.total)

    @property
    def holds(self) -> bool:
        """Whether a list that was checked is still clean."""
        return not self.left_out and self.trouble is None
