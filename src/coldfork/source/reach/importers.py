"""The importers of modules: how many there are, which wakes they pass on, and what a change affects."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from coldfork.source.evaluation.trace import SiteEdge
from coldfork.source.program.package_environment import with_packages
from coldfork.source.program.program import HIERARCHY, Program
from coldfork.source.reach.propagation import (
    Environments,
    Importers,
    ModuleResult,
    Reaches,
    kept_cold,
    targets,
)
from coldfork.source.reach.results import Results


def importers_of(results: Mapping[str, ModuleResult]) -> Importers:
    """Return the importers of every imported module."""
    importers: Importers = {}
    for name, result in results.items():
        for site_edge in result.edges:
            for target in targets(site_edge.edge.target, name):
                importers.setdefault(target, []).append((name, site_edge))
    return importers


def importer_counts(names: Iterable[str], importers: Importers, own: Container[str]) -> dict[str, int]:
    """Return, for each of `names`, the number of modules in `own` that import it, directly or indirectly."""
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
    """Return every module whose import may lead to an import of one of these packages."""
    seen: set[str] = set()
    pending = list(packages)
    while pending:
        for importer, _ in importers.get(pending.pop(), ()):
            if importer not in seen:
                seen.add(importer)
                pending.append(importer)
    return frozenset(seen)


def imports_towards(
    seeds: Iterable[str], importers: Importers, reaches: Reaches, environment: Environments
) -> list[tuple[str, SiteEdge, str]]:
    """Return the imports through which the import of a module leads to one of the seeds, each with its
    target.

    Of several imports of the same module, the surest is returned; of equally sure ones, the first.
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


def affected(
    results: Results, folders: Sequence[str], files: dict[str, str], changed: Sequence[str]
) -> set[str]:
    """Return the modules of `files` that changed, or whose results depend on a changed module.

    A deleted file affects the modules that still import it.
    """
    program = results.program
    touched = _changed_names(program, folders, files, changed)
    mask = 0
    for name in touched:
        mask |= program.bits.get(name) or program.inside_missing.get(name, 0)
    importers: dict[str, list[str]] = {}
    pending = [name for name in files if name in touched]
    for name, result in results.by_name.items():
        # Importing a module runs its packages first.
        if results.known[name].depends & mask or not touched.isdisjoint(with_packages(name)):
            pending.append(name)
        for site_edge in result.edges:
            for target in targets(site_edge.edge.target, name):
                importers.setdefault(target, []).append(name)
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += importers.get(name, ())
    return {name for name in reached if name in files}


def _changed_names(
    program: Program, folders: Sequence[str], files: dict[str, str], changed: Sequence[str]
) -> set[str]:
    """Return the names of the modules that the changed files contain, or contained."""
    paths = set(changed)
    stems = {_stem(path) for path in paths}
    roots = [os.path.realpath(folder) for folder in folders]
    names = {name for name, path in files.items() if not paths.isdisjoint(_places(path))}
    for name in (*program.bits, *program.inside_missing):
        below = name.replace(".", os.sep)
        if name != HIERARCHY and any(f"{root}{os.sep}{below}" in stems for root in roots):
            names.add(name)
    return names


def _places(path: str) -> Iterator[str]:
    """Yield the path of a file with its folder's links resolved and, if it is a link, its own real path."""
    yield os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    yield os.path.realpath(path)


def _stem(path: str) -> str:
    """Return a module's path without its suffix, and a package's path without `__init__`."""
    folder, name = os.path.split(path)
    stem = name.partition(".")[0]
    return folder if stem == "__init__" else os.path.join(folder, stem)
