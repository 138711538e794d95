"""The processes that programs and imports start, told as effects at the lines that start them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from coldfork.model.chains import Chain
from coldfork.model.effects import Ahead, Effect, EffectKind, ProcessStart, Verdict
from coldfork.model.positions import Position
from coldfork.source.evaluation.trace import Link, SiteEdge, SiteStart, Start, Wake
from coldfork.source.files.modules_of_tests import is_test
from coldfork.source.files.started import imported, is_started
from coldfork.source.reach.propagation import ModuleResult, Reaches, combine, targets
from coldfork.source.reach.quotations import Quotations
from coldfork.source.values.conditions import Conditions, contradiction


class _Before(NamedTuple):
    """The wake before a process was started."""

    wake: Wake
    sure: bool


class Starts:
    """Tells what starts processes in some modules."""

    def __init__(self, quotations: Quotations, reaches: Reaches, checked: Mapping[str, str]) -> None:
        self._quotations = quotations
        self._reaches = reaches
        self._checked = checked

    def effects(self, results: Mapping[str, ModuleResult]) -> Iterator[Effect]:
        """The effects of each line of the checked code that starts processes, one of each line."""
        best: dict[tuple[str, int, bool], tuple[tuple[object, ...], Effect]] = {}
        for name, result in results.items():
            for site in result.starts:
                before = self._before(name, result, site)
                told = self._told(name, site.start, before)
                if told is None:
                    continue
                start = site.start
                order = (start.child is None, before is None, *start.order, not is_started(name))
                place = told.module, told.line, start.tasks
                if place not in best or order < best[place][0]:
                    best[place] = order, told
        for _, effect in best.values():
            yield effect

    # -- what was before ---------------------------------------------------------------------------------

    def _before(self, name: str, result: ModuleResult, site: SiteStart) -> _Before | None:
        """The surest wake before a start: of a call, or of an import."""
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
        """The wakes of imports in functions that the program had run by then."""
        return self._by_imports(
            name,
            [
                SiteEdge(site.line, site.end_line, 0, Position.MODULE, site.symbol, edge, False, False)
                for edge in site.start.imports
            ],
        )

    # -- telling -----------------------------------------------------------------------------------------

    def _told(self, name: str, start: Start, before: _Before | None) -> Effect | None:
        """The effect of the last line of the checked code on the way to a start; None where there is none."""
        link, way = self._own_link(start.link), self._quotations.chain(start.link)
        if link is None or link.module is None or link.line is None or not start.method:
            return None
        module = imported(link.module)
        path = self._quotations.path_of(module)
        chain = self._quotations.chain(link)
        conditions = self._conditions(start, before)
        if contradiction(conditions):  # a test may come out differently in another call or process
            return None
        verdict = _verdict(start, before, conditions)
        return Effect(
            kind=EffectKind.FORKS if start.method == "fork" else EffectKind.SPAWNS,
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
                imported(name) if is_started(name) else "",
                way if len(way.steps) > len(chain.steps) else Chain(()),
                None if before is None else self._ahead(before.wake),
                None if start.child is None else self._ahead(start.child),
                not start.conditions and not start.off,
                start.refused,
                start.tasks,
            ),
        )  # fmt: skip

    def _own_link(self, link: Link | None) -> Link | None:
        """The last link of a way that is a line of the checked code."""
        found = None
        while link is not None:
            if link.module is not None and imported(link.module) in self._checked:
                found = link
            link = link.following
        return found

    def _ahead(self, wake: Wake) -> Ahead:
        return Ahead(wake.kind, self._quotations.chain(wake.link))

    @staticmethod
    def _conditions(start: Start, before: _Before | None) -> Conditions:
        woken = before.wake.conditions if before is not None and not before.sure else ()
        used = start.child.conditions if start.child is not None else ()
        return tuple(dict.fromkeys((*start.conditions, *woken, *used)))


def _verdict(start: Start, before: _Before | None, conditions: Conditions) -> Verdict:
    if any(condition.possible for condition in conditions):
        return Verdict.POSSIBLE
    off = start.off or (start.child is not None and start.child.off)
    if conditions or off or before is None or not before.sure:
        return Verdict.CONDITIONAL
    return Verdict.CERTAIN
