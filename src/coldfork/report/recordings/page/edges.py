"""The vertical lines in the picture that lead from a process to those it started."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from coldfork.model.states import Status
from coldfork.model.timelines import Departure, How, Process, Recording
from coldfork.report.recordings.page.bands import Band, Scale
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.summary import phrases

_MOST_EDGES = 24


@dataclass(frozen=True, slots=True)
class _Edge:
    """A vertical line at one moment, from one height to another, and what it stands for."""

    at: float
    start: float
    end: float
    title: str
    kind: str
    arrivals: tuple[float, ...]
    short: bool = False
    """True if only the end is drawn, because the line above also stands for this one."""


class Edges:
    """All vertical lines of the picture; each band draws the parts that cross it."""

    def __init__(self, recording: Recording, stack: Sequence[Band], row_height: float, scale: Scale) -> None:
        self._scale = scale
        self._row_height = row_height
        self._processes = recording.processes
        half = row_height / 2
        self._middle = {
            line.row.first.number: line.top + half
            for band in stack
            for line in band.lines
            if not line.row.is_folded
        }
        edges = list(self._found(stack))
        self._is_crowded = sum(not edge.short for edge in edges) > _MOST_EDGES
        self._edges = self._by_band(edges, [band.top for band in stack])

    def lines(self, band: Band) -> Iterator[Markup]:
        """Yield the parts of the lines that cross a band."""
        for edge in self._edges[band.top]:
            reach = band.clip(edge.start, edge.end)
            if reach is not None:
                drawn = self._ends(band, edge) if edge.short or self._is_crowded else [(reach, None)]
                if drawn:
                    yield self._line(edge, drawn, reach)

    def arrivals(self, band: Band) -> Iterator[Markup]:
        """Yield the dots at the lower ends of the lines."""
        for edge in self._edges[band.top]:
            if band.top <= edge.end < band.top + band.height:
                for at in edge.arrivals:
                    x, y = self._scale.at(at), edge.end - band.top
                    yield element("circle", cx=x, cy=y, r=3, class_=f"arrival {edge.kind}")

    def _by_band(self, edges: Iterable[_Edge], tops: Sequence[float]) -> defaultdict[float, list[_Edge]]:
        """Return the lines that may be visible in each band, by the position of the band's top."""
        found: defaultdict[float, list[_Edge]] = defaultdict(list)
        for edge in edges:
            first, last = (bisect_right(tops, height) - 1 for height in sorted((edge.start, edge.end)))
            crossed: Iterable[int] = range(first, last + 1)
            if self._is_crowded and last - first > 3:
                # In a crowded picture only the ends are drawn, and each may reach into the band beside its
                # own.
                crossed = (first, first + 1, last - 1, last)
            for index in crossed:
                found[tops[index]].append(edge)
        return found

    def _found(self, stack: Iterable[Band]) -> Iterator[_Edge]:
        folded = {
            member.number: band
            for band in stack
            if band.heading is not None
            for member in band.heading.members
        }
        groups: dict[float, list[tuple[Departure, Process, Process]]] = {}
        for process in self._processes:
            for going in process.departures:
                if going.child not in self._middle:
                    continue
                child = self._processes[going.child]
                if child.number in folded and child.parent == process.number:
                    groups.setdefault(folded[child.number].top, []).append((going, process, child))
                yield self._own(going, process, child, short=child.number in folded)
        for top, members in groups.items():
            yield self._shared(top, members)

    def _own(self, going: Departure, parent: Process, child: Process, *, short: bool) -> _Edge:
        title = f"{phrases.pid(parent)} {phrases.departure(going)} {phrases.pid(child)} "
        title += f"{phrases.moment(going.at)}, {phrases.frame_place(going.site)}"
        start, end = self._middle[parent.number], self._middle[child.number]
        if short:
            start, title = end - self._row_height * 0.75, ""
        return _Edge(going.at, start, end, title, _kind(going, child), (going.at,), short)

    def _shared(self, top: float, members: Sequence[tuple[Departure, Process, Process]]) -> _Edge:
        going, parent, child = min(members, key=lambda member: member[0].at)
        times = [going.at for going, _, _ in members]
        title = f"{phrases.pid(parent)} {phrases.departure(going)} {phrases.processes(len(members))}, "
        title += f"the first {phrases.moment(min(times))}, the last {phrases.moment(max(times))}, "
        title += phrases.frame_place(going.site)
        start, end = self._middle[parent.number], top + self._row_height / 2
        return _Edge(min(times), start, end, title, _kind(going, child), (min(times), max(times)))

    def _ends(self, band: Band, edge: _Edge) -> list[tuple[tuple[float, float], str | None]]:
        """Return only the two ends of a line, for crowded pictures; pointing at one shows the whole line."""
        below = edge.start + self._row_height * 0.5
        parts = [
            (band.clip(below - 5, below), "departs"),
            (band.clip(max(below, edge.end - self._row_height * 0.75), edge.end), None),
        ]
        if edge.short:
            parts = [(band.clip(edge.start, edge.end), None)]
        return [(part, name) for part, name in parts if part is not None]

    def _line(
        self, edge: _Edge, drawn: Iterable[tuple[tuple[float, float], str | None]], reach: tuple[float, float]
    ) -> Markup:
        x = self._scale.at(edge.at)
        return element(
            "g",
            element("title", edge.title) if edge.title else None,
            join(element("line", x1=x, x2=x, y1=y1, y2=y2, class_=name) for (y1, y2), name in drawn),
            element("line", x1=x, x2=x, y1=reach[0], y2=reach[1], class_="reach")
            if self._is_crowded and not edge.short
            else None,
            class_=f"edge {edge.kind}",
        )


def _kind(going: Departure, child: Process) -> str:
    if going.how is not How.FORK:
        return "spawned"
    poisoned = any(stretch.status is Status.POISONED for stretch in child.stretches)
    return "poisoned-fork" if poisoned else "fork"
