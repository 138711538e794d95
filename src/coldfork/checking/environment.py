"""Determines which environment's packages a check reads, and for which machines the code is analysed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.model.observations import EnvironmentRead, Observation, Origin, Statistics
from coldfork.model.terms.machines import PROFILES, Profile
from coldfork.source.files.site_packages import environment, serves

if TYPE_CHECKING:
    from coldfork.checking.request import CheckRequest
    from coldfork.knowledge.catalogue import Catalogue
    from coldfork.model.terms.modules import CheckedModule

Environment = tuple[tuple[Path, ...], EnvironmentRead]
"""The folders of dependencies, and how they are reported."""


class Environments:
    """The environments of a session; each set of paths is resolved only once."""

    def __init__(self) -> None:
        self._known: dict[object, Environment] = {}

    def __call__(self, request: CheckRequest, paths: Sequence[Path]) -> Environment:
        """Return the environment for a request, which is looked up only once for equal requests."""
        active = os.environ.get("VIRTUAL_ENV")
        key = request.search, request.python, request.site_packages, tuple(paths), active, Path.cwd()
        if key not in self._known:
            self._known[key] = environment_of(request, paths)
        return self._known[key]


def environment_of(request: CheckRequest, paths: Sequence[Path]) -> Environment:
    """Return the folders in which dependencies are looked up, and their description for the report.

    If no environment was named and only coldfork's own is available, its packages are read only if it also
    serves the checked code. Otherwise findings could concern packages that users do not have.
    """
    if request.search is not None:
        return request.search, EnvironmentRead(None, Origin.NAMED, bool(request.search))
    python = Path(request.python) if request.python else None
    found = environment(python, [Path(folder) for folder in request.site_packages])
    read = found.origin is not Origin.OWN or serves(found.folders, paths)
    folder = os.path.relpath(found.folders[0]) if found.folders else None
    shown = None if folder is None else folder if not folder.startswith(os.pardir) else str(found.folders[0])
    return found.folders if read else (), EnvironmentRead(shown, found.origin, read)


def with_more(profile: Profile) -> Iterator[Profile]:
    """Yield the profiles that have all accelerators of this one and at least one more."""
    for other in PROFILES.values():
        if profile.accelerators < other.accelerators and other.nvml == profile.nvml:
            yield other


def libraries(catalogue: Catalogue, accelerators: frozenset[str]) -> frozenset[str]:
    """Return the top-level packages that can wake one of these accelerators, according to the catalogue."""
    every = (catalogue.calls, catalogue.attributes, catalogue.imports)
    return frozenset(
        symbol.partition(".")[0]
        for facts in every
        for symbol, about in facts.items()
        if any(fact.accelerator in accelerators for fact in about)
    )


def joined(first: Observation, second: Observation) -> Observation:
    """Return the observations for one machine, with those added for another one with more accelerators."""
    more = PROFILES[second.profile].accelerators - PROFILES[first.profile].accelerators
    counted, again = first.statistics, second.statistics
    return replace(
        first,
        further=(*first.further, *second.profiles),
        effects=(*first.effects, *(effect for effect in second.effects if effect.accelerator in more)),
        modules=tuple(map(_narrower, first.modules, second.modules or first.modules)),
        imports=tuple(dict.fromkeys((*first.imports, *second.imports))),
        unfinished=tuple(dict.fromkeys((*first.unfinished, *second.unfinished))),
        statistics=Statistics(
            max(counted.modules, again.modules),
            counted.read + again.read,
            max(0, max(counted.modules, again.modules) - counted.read - again.read),
            round(counted.seconds + again.seconds, 3),
            counted.own_modules,
            counted.bytes_read + again.bytes_read,
        ),
    )


def _narrower(one: CheckedModule, other: CheckedModule) -> CheckedModule:
    """Return the one with the narrower audience: only modules that wake a device are recognised as
    programs.
    """
    return one if one.audience.rank >= other.audience.rank else other
