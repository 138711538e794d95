"""Converts wakes and imports to effects: the lines of the checked code to report, with their chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from coldfork.model.causes import CheckedModule, Import
from coldfork.model.effects import WAKING, Effect, ImportOf, StepKind, Verdict
from coldfork.model.observations import Faults
from coldfork.source.evaluation.trace import Link, Site, SiteEdge, Wake, told
from coldfork.source.files.discovery import Found
from coldfork.source.files.started import is_test
from coldfork.source.program.package_environment import PackageEnvironments
from coldfork.source.program.program import Program
from coldfork.source.reach.audiences import Audiences
from coldfork.source.reach.execution_order import Event, ExecutionOrder, Preceding, preference, sameness
from coldfork.source.reach.importers import importer_counts, importers_of, imports_towards, leading_to
from coldfork.source.reach.propagation import (
    Importers,
    ModuleResult,
    Reached,
    Reaches,
    closure,
    combine,
    kept_cold,
    reach,
    runs_again,
    targets,
)
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.results import Results
from coldfork.source.reach.starts import StartMethods, Starts
from coldfork.source.syntax.imports import FIRST, may_be_lazy
from coldfork.source.values.conditions import Condition

#: Returns the effects of a module, given the conditions under which it is imported.
_Telling = Callable[[str, ModuleResult, tuple[Condition, ...]], Iterable[Effect]]


class Reporter:
    """Reports the results of an analysis as effects."""

    def __init__(
        self,
        program: Program,
        results: Results,
        found: Found,
        entries: tuple[str, ...],
        quotations: Quotations,
        faults: Faults,
    ) -> None:
        self.program = program
        self.results: dict[str, ModuleResult] = results.by_name
        self._programs = results.programs
        self.inherited: PackageEnvironments = program.kept(PackageEnvironments)
        self.found = found
        self.entries = entries
        self._quotations = quotations
        self._faults = faults
        self._importers: Importers = faults.attempt(lambda: importers_of(self.results), {})
        self._order = faults.attempt(
            lambda: ExecutionOrder(self.results, entries), ExecutionOrder(self.results, ())
        )
        self._preceding = Preceding(program, self.results, quotations)
        self._reaches: Reaches = faults.attempt(
            lambda: reach(self.results, self._importers, self._blamed_imports(), self._environment), {}
        )

    # -- effects ------------------------------------------------------------------------------------

    def effects(self) -> tuple[Effect, ...]:
        """Return every effect of a line in the checked code."""
        conditions = (
            self._faults.attempt(lambda: closure(self.entries, self.results), None) if self.entries else None
        )
        made: dict[tuple[object, ...], Effect] = {}
        for name in self.found.files:
            if conditions is not None and name not in conditions:
                continue
            if name not in self.results:
                continue
            above = conditions[name] if conditions is not None else ()
            for effect in (*self._all(self._own, name, above), *self._all(self._imported, name, above)):
                self._faults.attempt(partial(_take_in, effect, made), None, name, effect.path, effect.line)
        differ = self.program.project.defaults_differ
        started: list[Effect] = []

        def tell() -> None:
            methods = StartMethods(self.results)
            starts = Starts(self._quotations, self._reaches, self.found.files, methods, differ)
            started.extend(starts.effects(self._starting()))

        self._faults.attempt(tell, None)
        found = [*made.values(), *started]
        effects = self._faults.attempt(lambda: self._with_counts(found), found)
        return tuple(sorted(effects, key=lambda e: (e.path, e.line, e.column, e.accelerator)))

    def _starting(self) -> dict[str, ModuleResult]:
        """Return the results of importing the checked modules, and of running the programs among them."""
        imported = {name: self.results[name] for name in self.found.files if name in self.results}
        return imported | self._programs

    def _all(self, told: _Telling, name: str, above: tuple[Condition, ...]) -> list[Effect]:
        """Return the effects of a module that `told` finds; none if coldfork itself fails."""
        effects: list[Effect] = []
        path = self._quotations.path_of(name)
        self._faults.attempt(
            lambda: effects.extend(told(name, self.results[name], above)), None, name, path, 1
        )
        return effects

    def _environment(self, name: str, line: int) -> dict[str, str | None]:
        """Return the environment variables that are set when a line of a module runs."""
        state = self.program.module(name)
        return self.inherited.environment_at(state, line) if state is not None else {}

    def _blamed_imports(self) -> dict[str, tuple[Reached, ...]]:
        """Return the modules without source here whose import wakes a device according to the catalogue."""
        blamed: dict[str, tuple[Reached, ...]] = {}
        for name, facts in self.program.catalogue.imports.items():
            if name in self.results:
                continue
            reached = []
            for fact in facts:
                needs = (Condition(words=fact.condition),) if fact.condition else ()
                link = Link(StepKind.SINK, f"import {name}", None, None, None)
                presumed = (fact.presumes,) if fact.presumes else ()
                if fact.does in WAKING:
                    told = fact.remedy, bool(needs), fact.unless_env
                    wake = Wake(fact.accelerator, fact.does, needs, presumed, 1, link, *told)
                    reached.append(Reached(wake, not needs, not needs))
            if reached:
                blamed[name] = tuple(reached)
        return blamed

    def _own(self, name: str, result: ModuleResult, above: tuple[Condition, ...]) -> Iterable[Effect]:
        turns: dict[tuple[int, str], int] = {}
        for index, site in enumerate(result.sites):
            if site.wake.kind in WAKING:
                turns.setdefault(_line_of(site), self._order.turn(name, Event(False, index)))
        for site in told(result.sites):
            certain = site.certain and not above
            made = partial(self._effect, name, site, site.wake, certain, above, None)
            for effect in self._at(name, site, made):
                yield replace(effect, turn=turns.get(_line_of(site), 0))

    def _imported(self, name: str, result: ModuleResult, above: tuple[Condition, ...]) -> Iterable[Effect]:
        """Yield the effects of waking imports: of dependencies, in a package's `__init__`, or under the
        author's test.
        """
        path = self._quotations.path_of(name)
        in_init = path.endswith("/__init__.py")
        for index, site_edge in enumerate(result.edges):
            for target in targets(site_edge.edge.target, name):
                reached = self._reaches.get(target)
                if not reached:
                    continue
                own = target in self.found.files
                if own and not in_init and not site_edge.gated:
                    continue
                if own and not site_edge.statement and not in_init:
                    continue
                for one in reached.values():
                    if kept_cold(one, name, site_edge.line, self._environment):
                        continue
                    doubtful = one.wake.off or site_edge.edge.off or not one.rooted
                    if runs_again(name, one.wake.link):
                        continue
                    if own and (doubtful or self._leads_back(name, one.wake.link)):
                        continue  # reported at the waking line itself
                    through = combine(name, site_edge, target, one)
                    imported = ImportOf(
                        module=target,
                        own=own,
                        statement_in_init=own and in_init and "." in name,
                        importers=0,
                        gated=site_edge.gated,
                        woken_elsewhere=own,
                        may_be_lazy=self._may_be_lazy(name, site_edge),
                    )
                    certain = through.certain and not above
                    made = partial(self._effect, name, site_edge, through.wake, certain, above, imported)
                    for effect in self._at(name, site_edge, made):
                        yield replace(effect, turn=self._order.turn(name, Event(True, index)))

    def _may_be_lazy(self, name: str, site: SiteEdge) -> bool:
        if self.program.target_version < FIRST or not site.statement:
            return False
        state = self.program.module(name)
        return state is not None and may_be_lazy(state.summary.body, site.line)

    @staticmethod
    def _leads_back(name: str, link: Link | None) -> bool:
        """Return True if a chain passes through the module in which it would be reported."""
        while link is not None:
            if link.module == name:
                return True
            link = link.following
        return False

    def _at(self, name: str, site: Site | SiteEdge, make: Callable[[], Effect]) -> tuple[Effect, ...]:
        """Return the effect of a line; none if coldfork itself fails to report it."""
        path = self._quotations.path_of(name)
        return self._faults.attempt(lambda: (make(),), (), name, path, site.line, site.symbol)

    def _effect(
        self,
        name: str,
        site: Site | SiteEdge,
        wake: Wake,
        certain: bool,
        above: tuple[Condition, ...],
        imported: ImportOf | None,
    ) -> Effect:
        path = self._quotations.path_of(name)
        conditions = tuple(dict.fromkeys(above + wake.conditions))
        if certain and wake.kind in WAKING:
            verdict = Verdict.CERTAIN
        elif any(condition.possible for condition in conditions):
            verdict = Verdict.POSSIBLE
        else:
            verdict = Verdict.CONDITIONAL
        return Effect(
            kind=wake.kind,
            accelerator=wake.accelerator,
            verdict=verdict,
            module=name,
            path=path,
            line=site.line,
            end_line=max(site.end_line, site.line),
            column=site.column,
            text=self._quotations.text(name, site.line),
            position=site.position,
            chain=self._quotations.chain(wake.link),
            condition=None
            if verdict is Verdict.CERTAIN
            else self._quotations.words_of(conditions) or "nothing before it ends what it is a part of",
            presumed=_unsaid(wake.presumed, conditions, verdict),
            imported=imported,
            test=is_test(name, path),
            remedy=wake.remedy if imported is None else None,  # the remedy is to change the import itself
            ahead=self._preceding.of(wake.link),
        )

    def _with_counts(self, effects: list[Effect]) -> list[Effect]:
        """Return the effects; a package that is reported for re-exporting gets the number of its
        importers.
        """
        names = {e.module for e in effects if e.imported is not None and e.imported.own}
        if not names:
            return effects
        counts = importer_counts(names, self._importers, self.found.files)
        return [
            replace(e, imported=replace(e.imported, importers=counts[e.module]))
            if e.imported is not None and e.module in counts
            else e
            for e in effects
        ]

    # -- modules and their importers ------------------------------------------------------------------

    def modules(self, effects: Iterable[Effect]) -> tuple[CheckedModule, ...]:
        """Return the checked modules with their audiences."""
        audiences = Audiences(self.program, self.found, self._importers, self._quotations)
        told = self._faults.attempt(lambda: audiences.modules({effect.module for effect in effects}), None)
        return tuple(audiences.plain()) if told is None else told

    def imports(self, effects: Iterable[Effect]) -> tuple[Import, ...]:
        """Return the imports that lead to a waking line or to the import of a package that wakes a device."""
        seeds = {e.module for e in effects if e.kind in WAKING and not (e.imported and e.imported.own)}
        return self._faults.attempt(lambda: self._towards(seeds), ())

    def _towards(self, seeds: set[str]) -> tuple[Import, ...]:
        towards = imports_towards(seeds, self._importers, self._reaches, self._environment)
        path_of = self._quotations.path_of
        return tuple([
            Import(importer, path_of(importer), one.line, target, not one.edge.conditions, one.tried)
            for importer, one, target in towards
        ])  # fmt: skip

    def leading_to(self, packages: Iterable[str]) -> tuple[str, ...]:
        """Return the checked modules whose import may lead to an import of one of these packages."""
        leading = self._faults.attempt(
            lambda: leading_to(packages, self._importers), frozenset(self.found.files)
        )
        return tuple([name for name in self.found.files if name in leading])

    def unfollowed(self) -> int:
        """Return the number of lines in the checked code that call code which could not be followed."""
        return sum(self.results[name].unfollowed for name in self.found.files if name in self.results)


def _take_in(effect: Effect, made: dict[tuple[object, ...], Effect]) -> None:
    """Add an effect, unless an equivalent and better one is present."""
    key = sameness(effect)
    known = made.get(key)
    if known is None or preference(effect) < preference(known):
        made[key] = effect


def _unsaid(
    presumed: tuple[str, ...], conditions: tuple[Condition, ...], verdict: Verdict
) -> tuple[str, ...]:
    """Return the presumptions that the conditions do not already state."""
    if verdict is Verdict.CERTAIN:
        return presumed
    said = {condition.words for condition in conditions}
    return tuple(words for words in presumed if words not in said)


def _line_of(site: Site) -> tuple[int, str]:
    """Return the key of an effect; effects on the same device that share a line have the same key."""
    return site.line, site.wake.accelerator
