"""Finds gates: imports that deserve their own entry, because mending one alone keeps most modules cold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from coldfork.model.causes import Audience, Cause, CheckedModule, Import, packages
from coldfork.rules.causes.grouping import names_import

Graph = Mapping[str, Sequence[str]]


def dominated(graph: Graph, root: str) -> dict[str, set[str]]:
    """Return, for each node reachable from the root, the node and all nodes that are reachable only through
    it.
    """
    order = _in_order(graph, root)
    number = {node: index for index, node in enumerate(order)}
    before: list[list[int]] = [[] for _ in order]
    for node in order:
        for following in graph.get(node, ()):
            before[number[following]].append(number[node])
    nearest = _nearest_dominators(before)
    below: list[set[str]] = [{node} for node in order]
    for index in range(len(order) - 1, 0, -1):
        below[nearest[index]] |= below[index]
    return {node: below[index] for index, node in enumerate(order)}


def _in_order(graph: Graph, root: str) -> list[str]:
    """Return the nodes in reverse postorder: each after its predecessors, except in cycles."""
    done: list[str] = []
    seen = {root}
    stack = [(root, iter(graph.get(root, ())))]
    while stack:
        node, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            done.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(graph.get(following, ()))))
    return done[::-1]


def _nearest_dominators(before: Sequence[Sequence[int]]) -> list[int]:
    """Return the immediate dominator of each node, by number, after Cooper, Harvey and Kennedy."""
    nearest = [-1] * len(before)
    nearest[0] = 0

    def common(one: int, other: int) -> int:
        while one != other:
            while one > other:
                one = nearest[one]
            while other > one:
                other = nearest[other]
        return one

    changed = True
    while changed:
        changed = False
        for index in range(1, len(before)):
            found = -1
            for one in before[index]:
                if nearest[one] >= 0:
                    found = one if found < 0 else common(found, one)
            if nearest[index] != found:
                nearest[index], changed = found, True
    return nearest


_ROOT = "\0"
"""Stands for the root; no module name begins with this."""
_LEAST = 3
"""An import that keeps fewer modules cold than this deserves no entry."""


class Gates:
    """Finds the module whose mending keeps most modules cold."""

    def __init__(self, modules: Iterable[CheckedModule], imports: Iterable[Import]) -> None:
        self._names = {module.name for module in modules}
        self._imports = imports

    def widest(
        self, causes: Sequence[Cause], candidates: Iterable[str]
    ) -> tuple[str, tuple[str, ...]] | None:
        """Return the module whose mending keeps more modules cold than any file's, and these modules.

        For a candidate, only those imports of outside packages count that it leads to, because lines of the
        checked code are mended where they are. If several files need such an import, each of them would have
        to do without it.
        """
        warm = {way.module for cause in causes for way in cause.ways}
        free = [name for name in sorted(candidates) if name in warm and warm.isdisjoint(packages(name))]
        if not free:
            return None
        wide = [cause for cause in causes if cause.audience in _WIDE]
        outside = self._spared([cause for cause in wide if names_import(cause.call)], warm)
        best_outside = max(map(len, outside.files.values()), default=0)
        free = [name for name in free if len(outside.modules.get(name, ())) > best_outside]
        if not free:
            return None
        everything = self._spared(wide, warm)
        best = max(map(len, everything.files.values()), default=0)
        found: tuple[str, tuple[str, ...]] | None = None
        for name in free:
            mended = everything.modules.get(name, set())
            if len(mended) > max(best, _LEAST - 1):
                best, found = len(mended), (name, tuple(sorted(mended)))
        return found

    def _spared(self, causes: Sequence[Cause], warm: Iterable[str]) -> _Spared:
        """Return, for each file and each module, the modules that would stay cold if only it were mended."""
        graph: dict[str, list[str]] = {}
        for one in self._imports:
            graph.setdefault(one.target, []).append(one.importer)
        for name in sorted(warm):
            for package in packages(name):
                graph.setdefault(package, []).append(name)
        files = {f"{_ROOT}{cause.path}": cause.path for cause in causes}
        graph[_ROOT] = list(files)
        for cause in causes:
            woken = graph.setdefault(f"{_ROOT}{cause.path}", [])
            woken += [way.module for way in cause.ways if way.following is None]
        below = dominated(graph, _ROOT)
        return _Spared(
            {path: below[node] & self._names for node, path in files.items()},
            {name: below[name] & self._names for name in below if name in self._names},
        )


class _Spared(NamedTuple):
    """The checked modules that would stay cold if a single file or module were mended."""

    files: Mapping[str, set[str]]
    """By the file whose waking lines are mended; several lines of one file count as one fix."""
    modules: Mapping[str, set[str]]
    """By the module that no longer passes a wake on."""


_WIDE = (Audience.LIBRARY, Audience.SCRIPT)
