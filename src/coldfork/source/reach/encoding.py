"""Converts the cached results of a run to bytes: the effects of each module, and the answer for all
modules.
"""

from __future__ import annotations

import marshal
from typing import Any, NamedTuple

from coldfork.model.causes import Audience, CheckedModule, Import
from coldfork.model.effects import (
    Ahead,
    Arrival,
    Chain,
    Effect,
    EffectKind,
    Hindrance,
    ImportOf,
    Obstacle,
    Position,
    ProcessStart,
    StartedProgram,
    Step,
    StepKind,
    Verdict,
)
from coldfork.model.observations import IgnoreComment, Unfinished, Unreadable
from coldfork.source.evaluation.trace import Cut, Edge, Link, Site, SiteEdge, SiteStart, Start, Trouble, Wake
from coldfork.source.program.program import Program
from coldfork.source.reach.propagation import ModuleResult
from coldfork.source.values.conditions import Condition


def encode(result: ModuleResult) -> bytes:
    """Return a module's result as bytes."""
    sites = tuple([(*s[:3], s.position.value, s.symbol, _wake(s.wake), s.certain) for s in result.sites])
    edges = tuple([(*e[:3], e.position.value, e.symbol, _edge(e.edge), *e[6:]) for e in result.edges])
    # `marshal` accepts tuples, but no subclasses of tuple.
    cuts: Any = tuple(map(tuple, result.cuts))
    starts = tuple([(*s[:3], s.position.value, s.symbol, _start(s.start), s.behind) for s in result.starts])
    return marshal.dumps((sites, edges, cuts, result.unfollowed, starts))


def _start(start: Start) -> Any:
    known: Any = start[:13]
    does, *words, conditions, presumed, link, off, before, sure, imports, child, met = known
    return (
        (does.value, *words, _conditions(conditions), presumed, _link(link), off),
        (None if before is None else _wake(before), sure, tuple(map(_edge, imports))),
        None if child is None else _wake(child),
        None if met is None else (met.obstacle.value, met.words, _link(met.link)),
        start[13:],
    )


def _wake(wake: Wake) -> Any:
    accelerator, kind, conditions, presumed, cost, link, *rest = wake
    return accelerator, kind.value, _conditions(conditions), presumed, cost, _link(link), *rest


def _conditions(conditions: tuple[Condition, ...]) -> Any:
    return tuple([
        (*condition[:-2], _conditions(condition.every), _conditions(condition.some))
        for condition in conditions
    ])  # fmt: skip


def _link(link: Link | None) -> Any:
    if link is None:
        return None
    return link.kind.value, link.symbol, link.module, link.line, _link(link.following)


def _edge(edge: Edge) -> Any:
    if not edge.conditions and not edge.presumed and edge.link is None:
        return edge.target
    return edge.target, _conditions(edge.conditions), edge.presumed, _link(edge.link), edge.off


def decode(data: bytes) -> ModuleResult:
    """Return a module's result from the bytes made by `encode`."""
    sites, edges, cuts, unfollowed, starts = marshal.loads(data)
    woken, imported = tuple(map(_to_site, sites)), tuple(map(_to_site_edge, edges))
    ended = tuple([Cut(*cut) for cut in cuts])
    return ModuleResult(woken, imported, ended, unfollowed, tuple(map(_to_site_start, starts)))


def _to_site_start(data: Any) -> SiteStart:
    line, end_line, column, position, symbol, start, behind = data
    (
        (does, method, chosen, target, conditions, presumed, link, off),
        (before, sure, imports),
        child,
        met,
        rest,
    ) = start
    return SiteStart(
        line, end_line, column, _POSITIONS[position], symbol,
        Start(
            _EFFECTS[does], method, chosen, target, _to_conditions(conditions), presumed, _to_link(link), off,
            None if before is None else _to_wake(before),
            sure,
            tuple([_to_edge(edge) for edge in imports]),
            None if child is None else _to_wake(child),
            None if met is None else Trouble(Obstacle(met[0]), met[1], _to_link(met[2])),
            *rest,
        ),
        behind,
    )  # fmt: skip


def _to_site(data: Any) -> Site:
    line, end_line, column, position, symbol, wake, certain = data
    return Site(line, end_line, column, _POSITIONS[position], symbol, _to_wake(wake), certain)


def _to_site_edge(data: Any) -> SiteEdge:
    line, end_line, column, position, symbol, edge, *rest = data
    return SiteEdge(line, end_line, column, _POSITIONS[position], symbol, _to_edge(edge), *rest)


_POSITIONS = {position.value: position for position in Position}
_STEPS = {kind.value: kind for kind in StepKind}
_EFFECTS = {kind.value: kind for kind in EffectKind}


def _to_wake(data: Any) -> Wake:
    accelerator, kind, conditions, presumed, cost, link, *rest = data
    needs, way = _to_conditions(conditions), _to_link(link)
    return Wake(accelerator, _EFFECTS[kind], needs, presumed, cost, way, *rest)


def _to_conditions(data: Any) -> tuple[Condition, ...]:
    return tuple([
        Condition._make((*plain, _to_conditions(every), _to_conditions(some))) for *plain, every, some in data
    ])  # fmt: skip


def _to_link(data: Any) -> Any:
    if data is None:
        return None
    kind, symbol, module, line, following = data
    return Link(_STEPS[kind], symbol, module, line, _to_link(following))


def _to_edge(data: Any) -> Edge:
    if isinstance(data, str):
        return Edge(data, (), (), None)
    target, conditions, presumed, link, off = data
    return Edge(target, _to_conditions(conditions), presumed, _to_link(link), off)


class Translation:
    """Converts sets of modules, one bit each, from another run or process to the bits of this program."""

    def __init__(self, names: list[str], program: Program) -> None:
        self._same = list(program.bits)[: len(names)] == names
        self._bits = [program.bit(name) for name in names]
        self._same = self._same or list(program.bits) == names
        self._eights: dict[tuple[int, int], int] = {}
        """The converted bits for each position and value of eight neighbouring bits: many sets share
        these.
        """

    def __call__(self, mask: int) -> int:
        """Return a set of modules in the bits of this program."""
        if self._same:
            return mask
        translated = 0
        for place, eight in enumerate(mask.to_bytes((mask.bit_length() + 7) // 8, "little")):
            if eight:
                known = self._eights.get((place, eight))
                if known is None:
                    known = self._eights[place, eight] = self._translated(place, eight)
                translated |= known
        return translated

    def _translated(self, place: int, eight: int) -> int:
        translated = 0
        for offset, bit in enumerate(self._bits[8 * place : 8 * place + 8]):
            if eight >> offset & 1:
                translated |= bit
        return translated


class Answer(NamedTuple):
    """The result of an analysis."""

    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    modules: int
    absent: tuple[str, ...] = ()
    """Packages that the checked code imports unconditionally, and that were not found."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that the changes can affect; None if that was not asked."""
    checked: tuple[CheckedModule, ...] = ()
    imports: tuple[Import, ...] = ()
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, with the environment variables without which some of their imports were not followed."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to the import of a requested package."""
    unfollowed: int = 0
    """The number of lines in the checked code that call, during import, code that cannot be followed."""


def encode_answer(answer: Answer) -> Any:
    """Return an answer as nested tuples of plain values."""
    return (
        [_effect(effect) for effect in answer.effects],
        [_plain(one) for one in answer.unreadable],
        [_plain(one) for one in answer.ignores],
        answer.modules,
        answer.absent,
        answer.affected,
        [(m.name, m.path, str(m.audience), m.imported, m.file) for m in answer.checked],
        [tuple(one) for one in answer.imports],
        answer.unset,
        [_plain(one) for one in answer.unfinished],
        answer.leading,
        answer.unfollowed,
    )


def _plain(one: Any) -> Any:
    """Return the fields of an object that contains only plain values."""
    return tuple([getattr(one, field) for field in one.__slots__])


def _steps(chain: Chain) -> Any:
    return [(str(step.kind), step.symbol, step.path, step.line, step.text) for step in chain.steps]


def _to_chain(steps: Any) -> Chain:
    return Chain(tuple([Step(StepKind(step[0]), *step[1:]) for step in steps]))


def _effect(effect: Effect) -> Any:
    e, imported, start = effect, effect.imported, effect.start
    return (
        (str(e.kind), e.accelerator, str(e.verdict), e.module, e.path, e.line, e.end_line, e.column, e.text),
        str(e.position),
        _steps(e.chain),
        (e.condition, e.presumed),
        None if imported is None else _plain(imported),
        (e.test, e.remedy, e.turn, _ahead(e.ahead)),
        None if start is None else _process_start(start),
    )


def _process_start(start: ProcessStart) -> Any:
    met = start.hindrance
    return (
        (start.method, start.chosen, start.target, start.arrival.value, _plain(start.origin)),
        (start.tasks, start.handled, start.differs, start.unguarded),
        start.sure,
        None if met is None else (met.obstacle.value, met.words, _steps(met.chain)),
        _steps(start.way),
        _ahead(start.before),
        _ahead(start.child),
    )


def _ahead(ahead: Ahead | None) -> Any:
    return None if ahead is None else (str(ahead.kind), _steps(ahead.chain))


def _to_ahead(data: Any) -> Ahead | None:
    return None if data is None else Ahead(EffectKind(data[0]), _to_chain(data[1]))


def _to_process_start(data: Any) -> ProcessStart | None:
    if data is None:
        return None
    (method, chosen, target, arrival, origin), rest, sure, met, way, before, child = data
    return ProcessStart(
        method, chosen, target, Arrival(arrival), StartedProgram(*origin),
        _to_chain(way),
        _to_ahead(before),
        _to_ahead(child),
        sure,
        None if met is None else Hindrance(Obstacle(met[0]), met[1], _to_chain(met[2])),
        *rest,
    )  # fmt: skip


def decode_answer(data: Any) -> Answer:
    """Return the answer from the tuples made by `encode_answer`."""
    effects, unreadable, ignores, modules, absent, affected, checked, imports, unset, *rest = data
    unfinished, leading, unfollowed = rest
    return Answer(
        tuple([_to_effect(effect) for effect in effects]),
        tuple([Unreadable(*each) for each in unreadable]),
        tuple([IgnoreComment(*each) for each in ignores]),
        modules,
        absent,
        affected,
        tuple([
            CheckedModule(name, path, Audience(audience), is_imported, file)
            for name, path, audience, is_imported, file in checked
        ]),
        tuple([Import(*one) for one in imports]),
        unset,
        tuple([Unfinished(*each) for each in unfinished]),
        leading,
        unfollowed,
    )  # fmt: skip


def _to_effect(data: Any) -> Effect:
    (kind, accelerator, verdict, module, path, line, end_line, column, text), position, steps, *rest = data
    (condition, presumed), imported, (test, remedy, turn, ahead), start = rest
    return Effect(
        EffectKind(kind), accelerator, Verdict(verdict), module, path, line, end_line, column, text,
        Position(position),
        _to_chain(steps),
        condition, presumed,
        ImportOf(*imported) if imported is not None else None,
        test, remedy, turn,
        _to_ahead(ahead),
        _to_process_start(start),
    )  # fmt: skip
