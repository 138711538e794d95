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


def uses(observation: Observation, catalogue: Catalogue, accelerators: frozenset[str]) -> bool:
    """Whether the code imports a library of which the catalogue knows that it can wake one of these."""
    facts = (catalogue.calls, catalogue.attributes, catalogue.imports)
    known = {
        symbol.partition(".")[0]
        for each in facts
        for symbol, about in each.items()
        if any(fact.accelerator in accelerators for fact in about)
    }
    return not known.isdisjoint(observation.imported)


def joined(first: Observation, second: Observation) -> Observation:
    """What was seen on one machine, and what is seen besides on a second one that has more."""
    more = PROFILES[second.profile].accelerators - PROFILES[first.profile].accelerators
    counted, again = first.statistics, second.statistics
    return replace(
        first,
        further=(*first.further, *second.profiles),
        effects=(*first.effects, *(effect for effect in second.effects if effect.accelerator in more)),
        modules=tuple(map(_narrower, first.modules, second.modules)),
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
