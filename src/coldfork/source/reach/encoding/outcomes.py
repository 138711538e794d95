"""Module results as bytes, and back."""

from __future__ import annotations

import marshal
from typing import Any

from coldfork.model.chains import StepKind
from coldfork.model.effects import EffectKind, Obstacle
from coldfork.model.positions import Position
from coldfork.source.evaluation.trace import Cut, Edge, Link, Site, SiteEdge, SiteStart, Start, Trouble, Wake
from coldfork.source.program.program import Program
from coldfork.source.reach.propagation import ModuleResult
from coldfork.source.values.conditions import Condition


def encode(result: ModuleResult) -> bytes:
    """A module's result as bytes."""
    sites = tuple(
        (s.line, s.end_line, s.column, s.position.value, s.symbol, _wake(s.wake), s.certain)
        for s in result.sites
    )
    edges = tuple(
        (
            e.line,
            e.end_line,
            e.column,
            e.position.value,
            e.symbol,
            _edge(e.edge),
            e.statement,
            e.gated,
            e.tried,
            e.behind,
        )
        for e in result.edges
    )
    # `marshal` takes tuples, and none of the classes made from them.
    cuts: Any = tuple(map(tuple, result.cuts))
    starts = tuple(
        (s.line, s.end_line, s.column, s.position.value, s.symbol, _start(s.start), s.behind)
        for s in result.starts
    )
    return marshal.dumps((sites, edges, cuts, result.unfollowed, starts))


def _start(start: Start) -> Any:
    met = start.trouble
    return (
        (start.does.value, start.method, start.chosen, start.target),
        (start.presumed, start.off, start.sure),
        (start.tasks, start.handled, start.by_default, start.pool),
        None if met is None else (met.obstacle.value, met.words, _link(met.link)),
        _conditions(start.conditions),
        _link(start.link),
        None if start.before is None else _wake(start.before),
        tuple(map(_edge, start.imports)),
        None if start.child is None else _wake(start.child),
    )


def _wake(wake: Wake) -> Any:
    return (
        wake.accelerator,
        wake.kind.value,
        _conditions(wake.conditions),
        wake.presumed,
        wake.cost,
        _link(wake.link),
        wake.remedy,
        wake.off,
        wake.unless,
    )


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
    """The result that was encoded."""
    sites, edges, cuts, unfollowed, starts = marshal.loads(data)
    return ModuleResult(
        tuple([_to_site(site) for site in sites]),
        tuple([_to_site_edge(edge) for edge in edges]),
        tuple([Cut(*cut) for cut in cuts]),
        unfollowed,
        tuple([_to_site_start(start) for start in starts]),
    )


def _to_site_start(data: Any) -> SiteStart:
    line, end_line, column, position, symbol, start, behind = data
    (
        (does, method, chosen, target),
        (presumed, off, sure),
        rest,
        met,
        conditions,
        link,
        before,
        imports,
        child,
    ) = start
    made = _to_link(link)
    assert made is not None
    return SiteStart(
        line, end_line, column, _POSITIONS[position], symbol,
        Start(
            _EFFECTS[does], method, chosen, target, _to_conditions(conditions), presumed, made, off,
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
    accelerator, kind, conditions, presumed, cost, link, remedy, off, unless = data
    made = _to_link(link)
    assert made is not None
    return Wake(
        accelerator, _EFFECTS[kind], _to_conditions(conditions), presumed, cost, made, remedy, off, unless
    )


def _to_conditions(data: Any) -> tuple[Condition, ...]:
    return tuple([_to_condition(*condition) for condition in data])


def _to_condition(*fields: Any) -> Condition:
    *plain, every, some = fields
    return Condition._make((*plain, _to_conditions(every), _to_conditions(some)))


def _to_link(data: Any) -> Link | None:
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
    """Turns the dependencies of another process or an earlier run into this program's."""

    def __init__(self, names: list[str], program: Program) -> None:
        self._same = list(program.bits)[: len(names)] == names
        self._bits = [program.bit(name) for name in names]
        self._same = self._same or list(program.bits) == names
        self._eights: dict[tuple[int, int], int] = {}
        """What eight neighbouring bits become, by their place and themselves: sets share most of them."""

    def __call__(self, mask: int) -> int:
        """The same set of modules in this program's bits."""
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
