"""Results as plain data, for the cache and between processes."""

from __future__ import annotations

from typing import Any

from coldfork.model.chains import StepKind
from coldfork.model.effects import EffectKind
from coldfork.model.positions import Position
from coldfork.source.evaluation.trace import Edge, Link, Site, SiteEdge, Wake
from coldfork.source.program.program import Program
from coldfork.source.reach.propagation import ModuleResult
from coldfork.source.values.conditions import Condition


def encode(result: ModuleResult) -> Any:
    """A module's result as nested tuples of plain values."""
    sites = tuple(
        (s.line, s.end_line, s.column, str(s.position), s.symbol, _wake(s.wake), s.certain)
        for s in result.sites
    )
    edges = tuple(
        (e.line, e.end_line, e.column, str(e.position), e.symbol, _edge(e.edge), e.statement, e.gated)
        for e in result.edges
    )
    return sites, edges


def _wake(wake: Wake) -> Any:
    return (
        wake.accelerator,
        str(wake.kind),
        _conditions(wake.conditions),
        wake.presumed,
        wake.cost,
        _link(wake.link),
        wake.remedy,
        wake.off,
        wake.unless,
    )


def _conditions(conditions: tuple[Condition, ...]) -> Any:
    return tuple([tuple(condition) for condition in conditions])


def _link(link: Link | None) -> Any:
    if link is None:
        return None
    return str(link.kind), link.symbol, link.module, link.line, _link(link.following)


def _edge(edge: Edge) -> Any:
    if not edge.conditions and not edge.presumed and edge.link is None:
        return edge.target
    return edge.target, _conditions(edge.conditions), edge.presumed, _link(edge.link), edge.off


def decode(data: Any) -> ModuleResult:
    """The result that was encoded."""
    sites, edges = data
    return ModuleResult(
        tuple([Site(s[0], s[1], s[2], _POSITIONS[s[3]], s[4], _to_wake(s[5]), s[6]) for s in sites]),
        tuple(
            [SiteEdge(e[0], e[1], e[2], _POSITIONS[e[3]], e[4], _to_edge(e[5]), e[6], e[7]) for e in edges]
        ),
    )


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
    return tuple([Condition(*condition) for condition in data])


def _to_link(data: Any) -> Link | None:
    if data is None:
        return None
    return Link(_STEPS[data[0]], data[1], data[2], data[3], _to_link(data[4]))


def _to_edge(data: Any) -> Edge:
    if isinstance(data, str):
        return Edge(data, (), (), None)
    return Edge(data[0], _to_conditions(data[1]), data[2], _to_link(data[3]), data[4])


class Translation:
    """Turns the dependencies of another process or an earlier run into this program's."""

    def __init__(self, names: list[str], program: Program) -> None:
        self._same = list(program.bits)[: len(names)] == names
        self._bits = [program.bit(name) for name in names]
        self._same = self._same or list(program.bits) == names

    def __call__(self, mask: int) -> int:
        """The same set of modules in this program's bits."""
        if self._same:
            return mask
        translated = 0
        index = 0
        while mask:
            zeros = (mask & -mask).bit_length() - 1
            index += zeros
            translated |= self._bits[index]
            mask >>= zeros + 1
            index += 1
        return translated
