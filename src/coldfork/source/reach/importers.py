"""Who imports whom: how many modules a package is charged to, and the imports that pass a wake on."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from coldfork.source.evaluation.trace import SiteEdge
from coldfork.source.reach.propagation import (
    Environments,
    Importers,
    ModuleResult,
    Reaches,
    kept_cold,
    targets,
)


def importers_of(results: Mapping[str, ModuleResult]) -> Importers:
    """Every module that is imported, with those that import it."""
    importers: Importers = {}
    for name, result in results.items():
        for site_edge in result.edges:
            for target in targets(site_edge.edge.target, name):
                importers.setdefault(target, []).append((name, site_edge))
    return importers


def importer_counts(names: Iterable[str], importers: Importers, own: Container[str]) -> dict[str, int]:
    """How many of the modules in `own` import each of `names`, directly or not."""
    counts: dict[str, int] = {}
    for name in names:
        seen: set[str] = set()
        pending = [name]
        while pending:
            for importer, _ in importers.get(pending.pop(), ()):
                if importer not in seen and importer != name and importer in own:
                    seen.add(importer)
                    pending.append(importer)
        counts[name] = len(seen)
    return counts


def leading_to(packages: Iterable[str], importers: Importers) -> frozenset[str]:
    """Every module whose import can lead to that of one of these packages."""
    seen: set[str] = set()
    pending = list(packages)
    while pending:
        for importer, _ in importers.get(pending.pop(), ()):
            if importer not in seen:
                seen.add(importer)
                pending.append(importer)
    return frozenset(seen)


def imports_towards(
    seeds: Iterable[str],
    importers: Importers,
    reaches: Reaches,
    environment: Environments,
) -> list[tuple[str, SiteEdge, str]]:
    """The imports through which the import of a module leads to one of the seeds, each with its target.

    Of several imports of the same module the surest counts, then the first.
    """
    found: list[tuple[str, SiteEdge, str]] = []
    seen = set(seeds)
    pending = sorted(seen)
    while pending:
        target = pending.pop()
        best: dict[str, SiteEdge] = {}
        for importer, site_edge in importers.get(target, ()):
            known = best.get(importer)
            if site_edge.edge.off or (known is not None and _surety(known) <= _surety(site_edge)):
                continue
            if any(
                not kept_cold(one, importer, site_edge.line, environment)
                for one in reaches.get(target, {}).values()
            ):
                best[importer] = site_edge
        for importer, site_edge in best.items():
            found.append((importer, site_edge, target))
            if importer not in seen:
                seen.add(importer)
                pending.append(importer)
    return found


def _surety(site_edge: SiteEdge) -> tuple[bool, int]:
    return bool(site_edge.edge.conditions), site_edge.line
