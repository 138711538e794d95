"""The ways in which one call or statement wakes a device: which are told, and under what conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coldfork.model.effects import WAKING, EffectKind
from coldfork.source.evaluation.trace import Site, Wake
from coldfork.source.values.conditions import Condition, Conditions, contradiction, either, implies

#: What is told apart: the accelerator, how deep it is woken, and the variable that would keep it asleep.
Kind = tuple[str, EffectKind, tuple[str, str] | None]

_CHANGING = Condition(words="the same test comes out both ways", possible=True)


def kind_of(wake: Wake) -> Kind:
    """The traits that a wake shares with those that it is told together with."""
    return wake.accelerator, wake.kind, wake.unless


def possible_together(conditions: Conditions) -> Conditions | None:
    """The conditions of one way; None where they cannot all hold.

    Where a test would have to change its answer in between, and may, that is one more condition.
    """
    if len(conditions) < 2:
        return conditions
    settled = contradiction(conditions)
    if settled is None:
        return conditions
    return None if settled else tuple(dict.fromkeys((*conditions, _CHANGING)))


def joined(known: Wake, found: Wake) -> Wake:
    """Two ways of one kind as one: the better chain, and what has to hold for one of them to be open."""
    if not known.conditions and not known.off:
        return known  # what runs first is reported
    better, other = (found, known) if found.order < known.order else (known, found)
    if not better.conditions:
        return better
    conditions = either([better.conditions, other.conditions])
    if conditions == better.conditions and better.off <= other.off:
        return better
    return better._replace(conditions=conditions, off=better.off and other.off)


def told(sites: Iterable[Site]) -> Iterator[Site]:
    """The wakes at the lines of a module that are told: those that no other one covers.

    A wake is covered by one whose condition holds wherever its own does; of two with one condition the
    deeper is told, and of what wakes nothing, as a query does, only where nothing wakes.
    """
    lines: dict[tuple[int, str], dict[Kind, Site]] = {}
    for site in sites:
        kinds = lines.setdefault((site.line, site.wake.accelerator), {})
        kind = kind_of(site.wake)
        known = kinds.get(kind)
        kinds[kind] = site if known is None else _joined_sites(known, site)
    for kinds in lines.values():
        if len(kinds) == 1:
            yield from kinds.values()
            continue
        every = sorted(kinds.values(), key=_rank)
        for index, site in enumerate(every):
            if not any(_covers(other, site) for other in every[:index]):
                yield site


def _joined_sites(known: Site, found: Site) -> Site:
    if known.certain or found.certain:
        return known if known.certain else found
    wake = joined(known.wake, found.wake)
    first = found if wake.link is found.wake.link else known
    return first._replace(wake=wake)


def _rank(site: Site) -> tuple[object, ...]:
    wake = site.wake
    return (wake.kind not in WAKING, not site.certain, *wake.order)


def _covers(site: Site, other: Site) -> bool:
    if other.wake.kind not in WAKING:
        return True
    return site.certain or implies(other.wake.conditions, site.wake.conditions)
