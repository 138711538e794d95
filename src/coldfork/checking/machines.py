"""Which machines a check asks about where nobody names one: those whose accelerators the code uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.knowledge.catalogue import Catalogue
from coldfork.model.causes import CheckedModule
from coldfork.model.observations import Observation, Statistics
from coldfork.model.profiles import PROFILES, Profile


def with_more(profile: Profile) -> Iterator[Profile]:
    """The machines that have all that this one has, and runtimes besides."""
    for other in PROFILES.values():
        if profile.accelerators < other.accelerators and other.nvml == profile.nvml:
            yield other


def libraries(catalogue: Catalogue, accelerators: frozenset[str]) -> frozenset[str]:
    """The top-level packages of which the catalogue knows that they can wake one of these."""
    every = (catalogue.calls, catalogue.attributes, catalogue.imports)
    return frozenset(
        symbol.partition(".")[0]
        for facts in every
        for symbol, about in facts.items()
        if any(fact.accelerator in accelerators for fact in about)
    )


def joined(first: Observation, second: Observation) -> Observation:
    """All that was seen on one machine, and all that a second one with more accelerators adds."""
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
    """The module with the narrower audience: whether it is a program is asked only of one that wakes."""
    return one if one.audience.rank >= other.audience.rank else other
