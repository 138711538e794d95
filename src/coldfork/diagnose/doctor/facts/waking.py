"""Which installed packages wake a device when they are imported, as `coldfork check` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coldfork.model.causes import Cause
    from coldfork.model.observations import Progress

_DEVICES = frozenset({"cuda", "rocm", "xpu", "opencl", "jax"})


@dataclass(frozen=True, slots=True)
class WakingPackage:
    """A package whose import alone wakes a device."""

    name: str
    accelerator: str
    verdict: str
    place: str
    """The line that makes the call."""
    call: str


@dataclass(frozen=True, slots=True)
class Waking:
    """What was found, and in how many modules it was sought."""

    packages: tuple[WakingPackage, ...] = ()
    modules: int = 0


def waking(folders: Sequence[Path], version: tuple[int, ...] | None, progress: Progress | None) -> Waking:
    """Read everything in these folders; what was read before and is the same comes from the cache."""
    from coldfork.checking.configuration import Configuration
    from coldfork.checking.inspection import inspect
    from coldfork.checking.request import CheckRequest

    target = (version[0], version[1]) if version is not None else (3, 13)
    request = CheckRequest(
        tuple(folders), Configuration(Path()), search=tuple(folders), target_version=target
    )
    inspected = inspect(request, progress)
    found: dict[str, WakingPackage] = {}
    for cause in sorted(inspected.causes, key=lambda cause: -cause.verdict.rank):
        for name in _packages(cause):
            found.setdefault(name, _waking(name, cause))
    return Waking(tuple(found[name] for name in sorted(found)), inspected.observation.statistics.modules)


def _packages(cause: Cause) -> list[str]:
    """The packages that the cause warms by their import alone."""
    if cause.accelerator not in _DEVICES:
        return []
    return [way.module for way in cause.ways if "." not in way.module]


def _waking(name: str, cause: Cause) -> WakingPackage:
    place = f"{cause.path}:{cause.line}"
    return WakingPackage(name, cause.accelerator or "", cause.verdict.value, place, cause.call or "")
