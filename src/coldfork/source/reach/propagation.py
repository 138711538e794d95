"""The effects of importing a module: its own wakes and those of its imports, each by the surest path."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import count, groupby
from typing import NamedTuple

from coldfork.model.effects import WAKING, StepKind
from coldfork.source.evaluation.objects.import_edges import installed
from coldfork.source.evaluation.trace import Cut, Link, Site, SiteEdge, SiteStart, Wake, joined
from coldfork.source.program.package_environment import with_packages
from coldfork.source.values.conditions import Condition, presumed_together


class ModuleResult(NamedTuple):
    """The effects that importing a module has by its own code."""

    sites: tuple[Site, ...]
    edges: tuple[SiteEdge, ...]
    cuts: tuple[Cut, ...] = ()
    """The places where following the module ended early."""
    unfollowed: int = 0
    """The number of lines that call code which cannot be followed."""
    starts: tuple[SiteStart, ...] = ()
    """The processes that importing the module starts."""


class Reached(NamedTuple):
    """The surest path by which importing a module wakes an accelerator."""

    wake: Wake
    certain: bool
    rooted: bool
    """True if the waking site is certain in its own module."""

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key, smallest first: surest first, then shortest."""
        return (not self.certain, *self.wake.order)


Reaches = dict[str, dict[str, Reached]]
#: For each module, its importers with the line of the import.
Importers = dict[str, list[tuple[str, SiteEdge]]]
#: Returns the environment variables that are set when a line of a module runs.
Environments = Callable[[str, int], Mapping[str, str | None]]


#: Sorts a wake in the module itself before all wakes of its imports.
_OWN = (-1, 0)


@cache
def targets(edge: str, importer: str) -> tuple[str, ...]:
    """Return the modules that importing `edge` runs, outermost package first, without packages around the
    importer.
    """
    names = with_packages(edge)
    inside = 0
    for one, other in zip(names, with_packages(importer), strict=False):
        if one != other:
            break
        inside += 1
    return names[inside:]


def combine(importer: str, site: SiteEdge, target: str, reached: Reached) -> Reached:
    """Return the wake of an imported module as a wake of the importing module."""
    wake, edge = reached.wake, site.edge
    link = _entered(target, wake.link)
    if edge.link is not None:
        link = _append(edge.link, link)
    link = Link(StepKind.IMPORT, site.symbol, importer, site.line, link)
    conditions = tuple(dict.fromkeys(edge.conditions + _installed(site, wake.link) + wake.conditions))
    presumed = presumed_together(edge.presumed, wake.presumed)
    off = wake.off or edge.off
    through = Wake(
        wake.accelerator, wake.kind, conditions, presumed, wake.cost + 1, link, wake.remedy, off, wake.unless
    )
    sure = conditions == wake.conditions
    return Reached(through, reached.certain and sure, reached.rooted)


def _installed(site: SiteEdge, link: Link) -> tuple[Condition, ...]:
    """Return the condition that a waking library is installed, if a `try` around the import allows for its
    absence.
    """
    if not site.tried:
        return ()
    while link.following is not None:
        link = link.following
    _, blamed, library = link.symbol.partition("import ")
    return (installed(library.partition(".")[0]),) if blamed else ()


def runs_again(importer: str, link: Link | None) -> bool:
    """Return True if a path runs the body of the importer or a package around it, which is running
    already.
    """
    while link is not None:
        body = link.kind not in (StepKind.CALL, StepKind.CONSTRUCT)
        if body and link.module and (importer == link.module or importer.startswith(f"{link.module}.")):
            return True
        link = link.following
    return False


def _entered(target: str, link: Link) -> Link:
    """Return the first link of a module's wake as a part of the importer's path."""
    if link.kind is StepKind.SINK:
        return link
    return link._replace(kind=StepKind.IMPORT, symbol=target)


def _append(first: Link, last: Link) -> Link:
    if first.following is None:
        return first._replace(following=last)
    return first._replace(following=_append(first.following, last))


def kept_cold(reached: Reached, importer: str, line: int, environment: Environments) -> bool:
    """Return True if an environment variable set before the importing line keeps the device from
    being woken.
    """
    unless = reached.wake.unless
    return unless is not None and environment(importer, line).get(unless[0]) == unless[1]


def best_of(sites: Iterable[Site]) -> dict[str, Reached]:
    """Return, for each accelerator, the surest waking site of a module."""
    found: dict[str, Reached] = {}
    for site in sites:
        if site.wake.kind not in WAKING:
            continue
        reached = Reached(site.wake, site.certain, site.certain)
        known = found.get(site.wake.accelerator)
        if known is None:
            found[site.wake.accelerator] = reached
            continue
        better, other = (reached, known) if reached.order < known.order else (known, reached)
        if not better.certain and not other.certain and better.wake.unless == other.wake.unless:
            better = better._replace(wake=joined(better.wake, other.wake))
        found[site.wake.accelerator] = better
    return found


def reach(
    results: Mapping[str, ModuleResult],
    importers: Importers,
    waking_imports: Mapping[str, tuple[Reached, ...]],
    environment: Environments,
) -> Reaches:
    """Return, for every module whose import wakes an accelerator, the surest path to each wake.

    `waking_imports` are modules without source whose import is known to wake a device; `environment` returns
    the variables that are set when a line of a module runs.
    """
    settled: Reaches = {}
    ticket = count()
    queue: list[tuple[tuple[object, ...], tuple[int, int], int, str, Reached]] = []
    places = {id(edge): place for result in results.values() for place, edge in enumerate(result.edges)}

    def offer(name: str, reached: Reached, place: tuple[int, int]) -> None:
        """Add a path to the queue unless a better one is settled; of equal paths, the first in the
        text wins.
        """
        known = settled.get(name, {}).get(reached.wake.accelerator)
        if known is None:
            heapq.heappush(queue, (reached.order, place, next(ticket), name, reached))

    for name, result in results.items():
        for reached in best_of(result.sites).values():
            offer(name, reached, _OWN)
    for name, every in waking_imports.items():
        for reached in every:
            offer(name, reached, _OWN)
    while queue:
        *_, name, reached = heapq.heappop(queue)
        here = settled.setdefault(name, {})
        if reached.wake.accelerator in here:
            continue
        here[reached.wake.accelerator] = reached
        for importer, edge in importers.get(name, ()):
            if reached.wake.accelerator not in settled.get(importer, {}) and not kept_cold(
                reached, importer, edge.line, environment
            ):
                place = places[id(edge)], name.count(".")
                offer(importer, combine(importer, edge, name, reached), place)
    return _first_executed(settled, results, environment)


def _first_executed(
    settled: Reaches, results: Mapping[str, ModuleResult], environment: Environments
) -> Reaches:
    """Return the paths, with the shortest path to each certain wake replaced by the path that runs first.

    A module's path leads only through modules that are nearer to the device; through equally near ones it
    takes the shortest path, so that import cycles end.
    """
    chosen: Reaches = {}
    every = [(name, one) for name, here in settled.items() for one in here.values()]
    every.sort(key=lambda each: each[1].order)
    for _, group in groupby(every, key=lambda each: each[1].order):
        alike = list(group)
        for name, known in alike:
            chosen.setdefault(name, {})[known.wake.accelerator] = known
        first = [_first_in(name, known, results, chosen, environment) for name, known in alike]
        for (name, _), best in zip(alike, first, strict=True):
            chosen[name][best.wake.accelerator] = best
    return chosen


def _first_in(
    name: str, known: Reached, results: Mapping[str, ModuleResult], chosen: Reaches, environment: Environments
) -> Reached:
    """Return the first line of a module itself that is certain to wake the accelerator."""
    result, accelerator = results.get(name), known.wake.accelerator
    if result is None or not known.certain:
        return known
    first = (1 << 30, known)
    for site in result.sites:
        if (
            site.certain
            and site.wake.accelerator == accelerator
            and site.wake.kind in WAKING
            and site.line < first[0]
        ):
            first = (site.line, Reached(site.wake, True, True))
    for site_edge in result.edges:
        if site_edge.line >= first[0] or site_edge.edge.conditions:
            continue
        for target in targets(site_edge.edge.target, name):
            reached = chosen.get(target, {}).get(accelerator)
            if (
                reached is not None
                and reached.certain
                and not kept_cold(reached, name, site_edge.line, environment)
            ):
                first = (site_edge.line, combine(name, site_edge, target, reached))
                break
    return first[1]


def closure(entries: Iterable[str], results: Mapping[str, ModuleResult]) -> dict[str, tuple[Condition, ...]]:
    """Return the modules that importing the entries runs, each with the conditions of the surest
    path to it.
    """
    reached: dict[str, tuple[Condition, ...]] = {}
    queue: list[tuple[int, int, str, tuple[Condition, ...]]] = []
    ticket = count()
    for entry in entries:
        for name in targets(entry, ""):
            heapq.heappush(queue, (0, next(ticket), name, ()))
    while queue:
        _, _, name, conditions = heapq.heappop(queue)
        if name in reached:
            continue
        reached[name] = conditions
        result = results.get(name)
        if result is None:
            continue
        for site_edge in result.edges:
            needed = tuple(dict.fromkeys(conditions + site_edge.edge.conditions))
            for target in targets(site_edge.edge.target, name):
                if target not in reached:
                    heapq.heappush(queue, (len(needed), next(ticket), target, needed))
    return reached
