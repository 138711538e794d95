"""The process starts in programs and imports, reported as effects of the lines that start processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from coldfork.model.effects import (
    Ahead,
    Arrival,
    Chain,
    Effect,
    EffectKind,
    Hindrance,
    Position,
    ProcessStart,
    StartedProgram,
    Verdict,
)
from coldfork.source.evaluation.trace import Link, SiteEdge, SiteStart, Start, Wake
from coldfork.source.files.started import called, imported, is_offering, is_started, is_test
from coldfork.source.program.package_environment import with_packages
from coldfork.source.reach.propagation import ModuleResult, Reaches, combine, targets
from coldfork.source.reach.quotations import Quotations
from coldfork.source.values.conditions import Conditions, contradiction

_STARTING = frozenset({EffectKind.FORKS, EffectKind.SPAWNS, EffectKind.EXECS})


class _Before(NamedTuple):
    """The surest wake before a process start."""

    wake: Wake
    sure: bool


class Starts:
    """Finds the effects of process starts in some modules."""

    def __init__(
        self,
        quotations: Quotations,
        reaches: Reaches,
        checked: Mapping[str, str],
        methods: StartMethods,
        defaults_differ: bool = False,
    ) -> None:
        self._quotations = quotations
        self._defaults_differ = defaults_differ
        self._reaches = reaches
        self._checked = checked
        self._methods = methods

    def effects(self, results: Mapping[str, ModuleResult]) -> Iterator[Effect]:
        """Yield the effects of lines in the checked code that start processes, at most one of each kind for a
        line.
        """
        best: dict[tuple[object, ...], tuple[tuple[object, ...], Effect]] = {}
        unguarded: dict[tuple[object, ...], str] = {}
        for_children: set[tuple[str, int]] = set()
        for name, result in results.items():
            for site in result.starts:
                began = _beginning(site, result.starts)
                before = None if began is None else self._before(name, result, began)
                start = self._methods.held(name, result, site)
                told = self._told(name, start, before)
                if told is None:
                    continue
                if before is not None and _for_children(start, result.starts):
                    for_children.add((told.module, told.line))
                    continue
                # More is known of a program than of a function whose callers are unknown.
                complete = before is not None and start.child is not None
                apart = (not complete, start.trouble is None, is_offering(name))
                order = (*apart, start.child is None, before is None, *start.order, not is_started(name))
                place = told.module, told.line, start.does, start.tasks, _beside(name, start)
                if place not in best or order < best[place][0]:
                    best[place] = order, told
                if not is_started(name) and not start.conditions and not start.off:
                    unguarded.setdefault(place, name)
        for key, (_, effect) in best.items():
            assert effect.start is not None
            if effect.kind is EffectKind.SETS_VISIBILITY and (effect.module, effect.line) in for_children:
                continue
            yield replace(effect, start=replace(effect.start, unguarded=unguarded.get(key, "")))

    # -- wakes before a start -----------------------------------------------------------------------------

    def _before(self, name: str, result: ModuleResult, site: SiteStart) -> _Before | None:
        """Return the surest wake before a start, by a call or by an import; None if there is none."""
        start = site.start
        own = None if start.before is None else _Before(start.before, start.sure)
        if own is not None and own.sure:
            return own
        found = [*self._by_imports(name, result.edges[: site.behind]), *self._inside(name, site)]
        if own is not None:
            found.append(own)
        return min(found, key=lambda one: (not one.sure, *one.wake.order), default=None)

    def _by_imports(self, name: str, edges: Iterable[SiteEdge]) -> Iterator[_Before]:
        for edge in edges:
            for target in targets(edge.edge.target, imported(name)):
                for reached in self._reaches.get(target, {}).values():
                    through = combine(name, edge, target, reached)
                    yield _Before(through.wake, through.certain)

    def _inside(self, name: str, site: SiteStart) -> Iterator[_Before]:
        """Yield the wakes of imports that functions of the program ran before the start."""
        place = site.line, site.end_line, 0, Position.MODULE, site.symbol
        edges = [SiteEdge(*place, edge, False, False) for edge in site.start.imports]
        return self._by_imports(name, edges)

    # -- effects ------------------------------------------------------------------------------------------

    def _told(self, name: str, start: Start, before: _Before | None) -> Effect | None:
        """Return the effect of the last line of checked code on the path to a start; None if there is no such
        line.
        """
        link, way = self._own_link(start.link), self._quotations.chain(start.link)
        if link is None or link.module is None or link.line is None:
            return None
        if not start.method and start.does in _STARTING:  # running another program is not reported
            return None
        module = imported(link.module)
        path = self._quotations.path_of(module)
        chain = self._quotations.chain(link)
        conditions = self._conditions(start, before)
        # such a test may have different answers in different calls or processes
        if contradiction(conditions):
            return None
        verdict = _verdict(start, before, conditions)
        return Effect(
            kind=start.does,
            accelerator=before.wake.accelerator if before is not None else "",
            verdict=verdict,
            module=module,
            path=path,
            line=link.line,
            end_line=link.line,
            column=0,
            text=self._quotations.text(module, link.line),
            position=Position.MODULE,
            chain=chain,
            condition=None if verdict is Verdict.CERTAIN else self._quotations.words_of(conditions),
            presumed=start.presumed if before is None else tuple(
                dict.fromkeys((*start.presumed, *before.wake.presumed))
            ),
            test=is_test(module, path),
            start=ProcessStart(
                start.method,
                start.chosen,
                start.target,
                _arrival(name),
                self._origin(name),
                way if len(way.steps) > len(chain.steps) else Chain(()),
                None if before is None else self._ahead(before.wake),
                None if start.child is None else self._ahead(start.child),
                not start.conditions and not start.off,
                self._hindrance(start),
                start.tasks,
                start.handled,
                start.by_default and self._defaults_differ,
            ),
        )  # fmt: skip

    def _origin(self, name: str) -> StartedProgram:
        module = imported(name)
        return StartedProgram(module, self._quotations.path_of(module), called(name))

    def _own_link(self, link: Link | None) -> Link | None:
        """Return the last link of a path that belongs to the checked code."""
        found = None
        while link is not None:
            if link.module is not None and imported(link.module) in self._checked:
                found = link
            link = link.following
        return found

    def _ahead(self, wake: Wake) -> Ahead:
        return Ahead(wake.kind, self._quotations.chain(wake.link))

    def _hindrance(self, start: Start) -> Hindrance | None:
        met = start.trouble
        if met is None:
            return None
        chain = Chain(()) if met.link is None else self._quotations.chain(met.link)
        return Hindrance(met.obstacle, met.words, chain)

    @staticmethod
    def _conditions(start: Start, before: _Before | None) -> Conditions:
        woken = before.wake.conditions if before is not None and not before.sure else ()
        used = start.child.conditions if start.child is not None else ()
        return tuple(dict.fromkeys((*start.conditions, *woken, *used)))


def _beginning(site: SiteStart, sites: Iterable[SiteStart]) -> SiteStart | None:
    """Return where the processes of a start began: for a pool's task, where the pool was made; None if
    unseen.
    """
    if site.start.pool is None:
        return site
    made = (one for one in sites if one.start.pool is None and one.start.place[:2] == site.start.pool)
    return next((one for one in made if one.start.does is site.start.does), None)


def _beside(name: str, start: Start) -> bool:
    """Return whether a line that sets the start method is reported for other callers besides programs."""
    return start.does is EffectKind.SETS_START_METHOD and start.trouble is None and is_offering(name)


def _for_children(start: Start, sites: Iterable[SiteStart]) -> bool:
    """Return whether a function, or a helper that it calls, sets the devices of the processes that
    it starts.
    """
    if start.does is not EffectKind.SETS_VISIBILITY:
        return False
    *callers, own = _frames(start.link)
    # The module level of a program does not count: it may start processes for any other reason.
    above = [link for link in callers[-1:] if link.symbol not in ("__main__", link.module)]
    functions = {(link.module, link.symbol) for link in (own, *above)}
    return any(
        (link.module, link.symbol) in functions
        for site in sites
        if site.start.does in _STARTING and not site.start.tasks and _is_process(site.start)
        for link in _frames(site.start.link)
    )


def _is_process(start: Start) -> bool:
    """Return whether a process was started for work of its own, and not as a worker of a data loader."""
    *_, end = start.link.along
    return not end.symbol.startswith("DataLoader")


def _frames(link: Link) -> list[Link]:
    """Return the links on the path to a start that belong to a module."""
    return [one for one in link.along if one.module is not None]


def _arrival(name: str) -> Arrival:
    if is_offering(name):
        return Arrival.CALL
    return Arrival.PROGRAM if is_started(name) else Arrival.IMPORT


def _verdict(start: Start, before: _Before | None, conditions: Conditions) -> Verdict:
    if any(condition.possible for condition in conditions):
        return Verdict.POSSIBLE
    off = start.off or (start.child is not None and start.child.off)
    if conditions or off or before is None or not before.sure:
        return Verdict.CONDITIONAL
    return Verdict.CERTAIN


_STARTED = {"fork": EffectKind.FORKS, "spawn": EffectKind.SPAWNS, "forkserver": EffectKind.SPAWNS}


class StartMethods:
    """Finds the start method that earlier imports have set, for processes started by the default one."""

    def __init__(self, results: Mapping[str, ModuleResult]) -> None:
        self._results = results
        self._setting = {
            name: site.start
            for name, result in results.items()
            for site in result.starts
            if site.start.does is EffectKind.SETS_START_METHOD and site.start.trouble is None
        }

    def held(self, name: str, result: ModuleResult, site: SiteStart) -> Start:
        """Return a start in which the method that an earlier import has set replaces the default method."""
        start = site.start
        if not self._setting or not start.by_default:
            return start
        edges = [*(one.edge for one in result.edges[: site.behind]), *start.imports]
        imports = [edge.target for edge in edges]
        if is_offering(name):
            imports.append(imported(name))
        setting = self._set_by(imports)
        if setting is None or setting.method == start.method:
            return start
        method = setting.method if not setting.conditions and not setting.off else ""
        does, chosen = _STARTED.get(method, start.does), f'set_start_method("{method}")'
        return start._replace(does=does, method=method, chosen=chosen, by_default=False)

    def _set_by(self, imports: Iterable[str]) -> Start | None:
        """Return the first start method that these imports set, including their packages and further
        imports.
        """
        seen: set[str] = set()
        pending = [*imports]
        while pending:
            for name in with_packages(pending.pop()):
                if name in seen:
                    continue
                seen.add(name)
                if name in self._setting:
                    return self._setting[name]
                result = self._results.get(name)
                pending.extend(site.edge.target for site in (() if result is None else result.edges))
        return None
