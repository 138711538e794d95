"""Converts the cached results of modules to bytes, and their dependencies to the bits of another run."""

from __future__ import annotations

import marshal
from typing import Any

from coldfork.model.effects import EffectKind, Obstacle, Position, StepKind
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
