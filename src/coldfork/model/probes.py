"""What importing modules in fresh interpreters did to accelerators: the result of `coldfork probe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from coldfork.model.states import Frame, Level, Waker


class ProbeStatus(StrEnum):
    """What became of one import."""

    COLD = "cold"
    """It ended, and no device is awake."""
    WOKEN = "woken"
    """It woke a device, whatever became of it afterwards."""
    FAILED = "failed"
    """It did not come to its end: an exception, a crash, an exit, the time limit."""
    UNKNOWN = "unknown"
    """It ended, and whether a device is awake could not be found out."""


@dataclass(frozen=True, slots=True)
class Wake:
    """One accelerator or fork-unsafe runtime that woke during an import."""

    accelerator: str
    level: Level | None
    module: str | None
    """The module in progress; None where it could not be told."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended an import."""

    type: str
    message: str
    stack: tuple[Frame, ...] = ()
    """Outermost first; the last frame is where it was raised."""


@dataclass(frozen=True, slots=True)
class ModuleProbe:
    """What importing one module did."""

    module: str
    status: ProbeStatus
    reason: str | None = None
    """Why it failed or is unknown; for a woken module, what could not be found out."""
    accelerator: str | None = None
    level: Level | None = None
    """How deep the accelerator is awake after the import."""
    woken_to: Level | None = None
    """How deep the waking line itself woke it, where a closer look saw that."""
    waker: Waker | None = None
    """The import-time site that woke it first."""
    text: str = ""
    """The source line of that site."""
    wakes: tuple[Wake, ...] = ()
    """Everything that woke, in order, fork-unsafe runtimes too."""
    failure: Failure | None = None
    output: str = ""
    """The end of what the import printed, kept when it failed."""
    output_cut: bool = False
    file: str | None = None
    """The file that the module was loaded from; None where that is not known."""
    asleep: bool = False
    """Whether every device was seen to be cold when the import ended, however it ended."""
    modules_loaded: int | None = None
    """How many modules the import loaded; None if it did not come to its end."""
    seconds: float = 0.0

    @property
    def judged(self) -> bool:
        """Whether it is known that the import wakes a device or that it does not."""
        return self.status in (ProbeStatus.COLD, ProbeStatus.WOKEN)


@dataclass(frozen=True, slots=True)
class Probing:
    """The result of one `coldfork probe`: what the renderers get."""

    device: str
    """`real`, `none`, or `virtual:` and its name."""
    modules: tuple[ModuleProbe, ...]
    python: str = ""
    """The interpreter that imported them."""
    seconds: float = 0.0
    forked: bool = False
    """Whether the modules were imported in forked children."""
    left: tuple[str, ...] = ()
    """The modules about which nothing is known, because somebody interrupted the probe."""
    interrupted: bool = False
    """Whether somebody interrupted the probe; what it had found by then is here."""
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The file behind each path: paths are relative to the folder that holds the top package."""

    @property
    def status(self) -> ProbeStatus:
        """The verdict on all modules together: woken beats unknown beats cold."""
        if any(probe.status is ProbeStatus.WOKEN for probe in self.modules):
            return ProbeStatus.WOKEN
        return ProbeStatus.COLD if all(probe.judged for probe in self.modules) else ProbeStatus.UNKNOWN
