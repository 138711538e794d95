"""Which modules are warm after their import because of one line, and the shortest way from each to it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

from coldfork.model.causes import CheckedModule, Import, Way


class Seed(NamedTuple):
    """A line by which a module wakes the device itself."""

    path: str
    line: int
    sure: bool = True
    """False where it is less sure than the cause is elsewhere."""


#: Modules whose own lines wake the device: the first of them in each.
Seeds = Mapping[str, Seed]


class Warmth:
    """The imports of one analysis, followed from woken modules up to those that import them."""

    def __init__(self, modules: Iterable[CheckedModule], imports: Iterable[Import]) -> None:
        self._modules = {module.name: module for module in modules}
        self._names = sorted(self._modules)
        self._importers: dict[str, list[Import]] = {}
        for one in sorted(imports, key=attrgetter("importer")):
            self._importers.setdefault(one.target, []).append(one)

    def ways(self, seeds: Seeds, *, optional: bool = False) -> tuple[Way, ...]:
        """The checked modules whose import runs one of the seeds, those that concern most people first.

        What is `optional` may be missing, and an import in a `try` goes on without it.
        """
        own = {name: Way(name, seed.path, seed.line, None, seed.sure) for name, seed in sorted(seeds.items())}
        reached = {name: way for name, way in own.items() if way.sure}
        self._spread(reached, list(reached), only_sure=True, optional=optional)
        reached = {**own, **reached}
        self._spread(reached, list(reached), only_sure=False, optional=optional)
        self._enter_packages(reached)
        return tuple(
            sorted((way for way in reached.values() if way.module in self._modules), key=self._order)
        )

    def _spread(self, reached: dict[str, Way], level: list[str], *, only_sure: bool, optional: bool) -> None:
        """Go up from importer to importer, level by level, so that every way is as short as it can be."""
        while level:
            found: list[str] = []
            for target in level:
                for one in self._importers.get(target, ()):
                    passes = one.sure and not (optional and one.tried)
                    if one.importer in reached or (only_sure and not passes):
                        continue
                    sure = passes and reached[target].sure
                    reached[one.importer] = Way(one.importer, one.path, one.line, target, sure)
                    found.append(one.importer)
            level = found

    def _enter_packages(self, reached: dict[str, Way]) -> None:
        """Importing a module runs the packages above it first, so what is in a warm package is warm."""
        for package in sorted(reached, key=lambda name: (not reached[name].sure, name)):
            sure = reached[package].sure
            for name in self._inside(package):
                if name not in reached or (sure and not reached[name].sure):
                    reached[name] = Way(name, None, None, package, sure)

    def _inside(self, package: str) -> list[str]:
        """The checked modules of a package."""
        names = self._names
        return names[bisect_left(names, f"{package}.") : bisect_left(names, f"{package}/")]  # `/` follows `.`

    def _order(self, way: Way) -> tuple[int, bool, int, str]:
        name = way.module
        return self._modules[name].audience.rank, not way.sure, name.count("."), name
