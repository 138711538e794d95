"""Finds modules that an accepted cause wakes but did not wake when the baseline was written."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from coldfork.model.causes import Audience, Cause, CheckedModule, Import, Way, packages
from coldfork.model.effects import Chain, Effect, EffectKind, ImportOf, Position, Step, StepKind, Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation


class Seed(NamedTuple):
    """A line by which a module wakes the device itself, rather than through an import."""

    path: str
    line: int
    sure: bool = True
    """False if it is less certain here than the cause is elsewhere."""


#: For each module whose own lines wake the device, the first such line.
Seeds = Mapping[str, Seed]


class Warmth:
    """The imports of one analysis, for following wakes from a module up to its importers."""

    def __init__(self, modules: Iterable[CheckedModule], imports: Iterable[Import]) -> None:
        self._modules = {module.name: module for module in modules}
        self._names = sorted(self._modules)
        self._importers: dict[str, list[Import]] = {}
        for one in sorted(imports, key=attrgetter("importer")):
            self._importers.setdefault(one.target, []).append(one)

    def ways(self, seeds: Seeds, *, optional: bool = False) -> tuple[Way, ...]:
        """Return the checked modules whose import runs one of these lines; the widest audience comes first.

        An `optional` package may be missing, and an import in a `try` then continues without it.
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
        """Follow the imports upwards, level by level, so that each module gets the shortest way."""
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
        """Add the modules in warm packages, because importing a module first runs its packages."""
        for package in sorted(reached, key=lambda name: (not reached[name].sure, name)):
            sure = reached[package].sure
            for name in self._inside(package):
                if name not in reached or (sure and not reached[name].sure):
                    reached[name] = Way(name, None, None, package, sure)

    def _inside(self, package: str) -> list[str]:
        """Return the checked modules inside a package."""
        names = self._names
        # `/` is the character after `.`
        return names[bisect_left(names, f"{package}.") : bisect_left(names, f"{package}/")]

    def _order(self, way: Way) -> tuple[int, bool, int, str]:
        name = way.module
        return self._modules[name].audience.rank, not way.sure, name.count("."), name


#: The outermost warm modules by accelerator, without the modules inside a warm package.
Warm = Mapping[str, Collection[str]]
#: A function that returns the text of a line, given the path that reports show and the line's number.
Source = Callable[[str, int], str]


def warm_modules(observation: Observation, causes: Iterable[Cause]) -> dict[str, list[str]]:
    """Return the modules whose import wakes a device, if users of the library or its scripts import them."""
    concerned = _concerned(observation)
    names: dict[str, set[str]] = {}
    for cause in causes:
        if cause.accelerator is not None:
            warmed = {way.module for way in cause.ways if way.module in concerned}
            names.setdefault(cause.accelerator, set()).update(warmed)
    return {
        accelerator: sorted(name for name in warm if warm.isdisjoint(packages(name)))
        for accelerator, warm in sorted(names.items())
        if warm
    }


def still_warm(before: Warm, causes: Iterable[Cause]) -> dict[str, list[str]]:
    """Return the modules that were warm according to the baseline and are still warm."""
    warm = {(cause.accelerator, way.module) for cause in causes for way in cause.ways}
    left = {
        accelerator: [name for name in names if (accelerator, name) in warm]
        for accelerator, names in before.items()
    }
    return {accelerator: names for accelerator, names in left.items() if names}


def newly_warm(
    observation: Observation,
    causes: Iterable[Cause],
    findings: Sequence[Finding],
    accepted: Collection[str],
    before: Warm,
    source: Source,
) -> list[tuple[Cause, Effect]]:
    """Return the imports through which accepted causes newly wake modules.

    If modules become warm together, only the one with the new import is listed, because the others follow
    from it.
    """
    concerned = _concerned(observation)
    new = {(one.module, one.accelerator) for one in findings if one.id not in accepted}
    by_id = {finding.id: finding for finding in findings}
    found: list[tuple[Cause, Effect]] = []
    for cause in causes:
        if cause.accelerator is None or cause.accelerator not in before:
            continue
        if not any(name in accepted for name in cause.findings):
            continue
        members = [by_id[name] for name in cause.findings]
        for way in _fresh(cause, before[cause.accelerator]):
            if way.module in concerned and (way.module, cause.accelerator) not in new:
                new.add((way.module, cause.accelerator))
                found.append((cause, _effect(cause, way, members, source)))
    return found


def _concerned(observation: Observation) -> set[str]:
    wide = (Audience.LIBRARY, Audience.SCRIPT)
    return {module.name for module in observation.modules if module.audience in wide}


def _fresh(cause: Cause, before: Collection[str]) -> Iterator[Way]:
    """Yield the ways that begin with a new import of a module that was already warm."""
    warm = {way.module for way in cause.ways}

    def was_warm(name: str) -> bool:
        return name in before or any(package in before for package in packages(name))

    for way in cause.ways:
        if way.path is None or way.following is None or was_warm(way.module):
            continue
        if was_warm(way.following) and warm.isdisjoint(packages(way.module)):
            yield way


def _effect(cause: Cause, way: Way, members: Sequence[Finding], source: Source) -> Effect:
    path, line, target = way.path or "", way.line or 0, way.following or ""
    sure = way.sure and cause.verdict is Verdict.CERTAIN
    return Effect(
        kind=EffectKind(cause.effect or EffectKind.CREATES_CONTEXT),
        accelerator=cause.accelerator or "",
        verdict=cause.verdict if way.sure or cause.verdict is Verdict.POSSIBLE else Verdict.CONDITIONAL,
        module=way.module,
        path=path,
        line=line,
        end_line=line,
        column=0,
        text=source(path, line),
        position=Position.MODULE,
        chain=_chain(cause, way, members, source),
        condition=None if sure else cause.condition,
        imported=ImportOf(
            module=target,
            own=True,
            statement_in_init=path.endswith("/__init__.py"),
            importers=0,
            gated=False,
            woken_elsewhere=True,
        ),
    )


def _chain(cause: Cause, way: Way, members: Sequence[Finding], source: Source) -> Chain:
    """Return the imports from one module to the next, then the steps inside the last one."""
    by_module = {one.module: one for one in cause.ways}
    steps: list[Step] = []
    at: Way | None = way
    while at is not None and at.following is not None:
        if at.path is not None and at.line is not None:
            steps.append(Step(StepKind.IMPORT, at.module, at.path, at.line, source(at.path, at.line)))
        at = by_module.get(at.following)
    woken = next((one for one in members if at is not None and one.module == at.module), members[0])
    first, *rest = woken.chain.steps
    return Chain((*steps, Step(StepKind.IMPORT, woken.module, first.path, first.line, first.text), *rest))
