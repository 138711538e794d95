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
    from coldfork.knowledge import catalogue
    from coldfork.model.profiles import DEFAULT_PROFILE, PROFILES
    from coldfork.rules import registry
    from coldfork.rules.causes import judging
    from coldfork.source.analysis import Request, analyse
    from coldfork.source.files.packs import cache_folder
    from coldfork.source.files.site_packages import versions

    profile = PROFILES[DEFAULT_PROFILE]
    known = catalogue.load(profile, versions(folders), None)
    target = (version[0], version[1]) if version is not None else (3, 13)
    request = Request(
        tuple(folders), profile, known, search=tuple(folders), target_version=target, cache=cache_folder()
    )
    observation = analyse(request, progress)
    judged = judging.judge(observation, registry.judge_all(observation, remedies=known.remedies).findings)
    found: dict[str, WakingPackage] = {}
    for cause in sorted(judged.causes, key=lambda cause: -cause.verdict.rank):
        for name in _packages(cause):
            found.setdefault(name, _waking(name, cause))
    return Waking(tuple(found[name] for name in sorted(found)), observation.statistics.modules)


def _packages(cause: Cause) -> list[str]:
    """The packages that the cause warms by their import alone."""
    if cause.accelerator not in _DEVICES:
        return []
    return [way.module for way in cause.ways if "." not in way.module]


def _waking(name: str, cause: Cause) -> WakingPackage:
    place = f"{cause.path}:{cause.line}"
    return WakingPackage(name, cause.accelerator or "", cause.verdict.value, place, cause.call or "")
