"""Imports that are worth an entry of their own: mending them alone keeps most modules cold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coldfork.model.causes import Audience, Cause, CheckedModule, Import, packages
from coldfork.rules.causes.dominance import dominated

_ROOT = "\0"
"""No module is called so, nor is the id of a cause."""
_LEAST = 3
"""To spare a module and a neighbour is not worth an entry."""


class Gates:
    """Finds the module through which most of the waking leads."""

    def __init__(self, modules: Iterable[CheckedModule], imports: Iterable[Import]) -> None:
        self._names = {module.name for module in modules}
        self._imports = imports

    def widest(
        self, causes: Sequence[Cause], candidates: Iterable[str]
    ) -> tuple[str, tuple[str, ...]] | None:
        """The candidate that mends more than any cause of several does, with the modules that stay cold."""
        warm = {way.module for cause in causes for way in cause.ways}
        free = [name for name in sorted(candidates) if name in warm and warm.isdisjoint(packages(name))]
        if not free:
            return None
        spared = self._spared([cause for cause in causes if cause.audience in _WIDE], warm)
        best = max((len(spared[cause.id]) for cause in causes if cause.id in spared), default=0)
        found: tuple[str, tuple[str, ...]] | None = None
        for name in free:
            if name in spared and len(spared[name]) > max(best, _LEAST - 1):
                best, found = len(spared[name]), (name, tuple(sorted(spared[name])))
        return found

    def _spared(self, causes: Sequence[Cause], warm: Iterable[str]) -> Mapping[str, set[str]]:
        """By module and by the id of a cause: the checked modules that mending it alone keeps cold."""
        graph: dict[str, list[str]] = {}
        for one in self._imports:
            graph.setdefault(one.target, []).append(one.importer)
        for name in sorted(warm):
            for package in packages(name):
                graph.setdefault(package, []).append(name)
        graph[_ROOT] = [cause.id for cause in causes]
        for cause in causes:
            graph[cause.id] = [way.module for way in cause.ways if way.following is None]
        return {
            node: {name for name in below if name in self._names}
            for node, below in dominated(graph, _ROOT).items()
        }


_WIDE = (Audience.LIBRARY, Audience.SCRIPT)
