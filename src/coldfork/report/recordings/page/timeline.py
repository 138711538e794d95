"""The processes over time: one row each, a bar for each accelerator, and the forks between the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from coldfork.model.states import Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES, Departure, How, Process, Recording, Stretch
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.symbols import legend
from coldfork.report.recordings.summary import phrases
from coldfork.report.shared.quantities import duration

_LANE = 14
_PADDING = 10
_MOST_LANES = 6
_TICKS = 8
_MOST_EDGES = 24
#: Widths in pixels of bars that would be too narrow to be seen.
_STUB = 26
_SHORTEST = 3


def timeline(recording: Recording) -> Markup:
    """The section with the picture; the table of processes says the same in words."""
    drawing = _Drawing(recording)
    zoom = join(
        element("button", label, type="button", data_zoom=step, aria_label=meaning)
        for label, step, meaning in (
            ("−", "out", "Show more time"),
            ("+", "in", "Show less time, larger"),
            ("Whole", "whole", "Show the whole time"),
        )
    )
    picture = element(
        "div",
        element("div", drawing.corner(), drawing.axis(), drawing.labels(), drawing.lanes(), class_="rows"),
        class_="scroll timeline",
        id="timeline",
        tabindex=0,
        role="group",
        aria_label="Timeline of the processes; the table below says the same. Plus and minus zoom.",
    )
    return element(
        "section",
        element("h2", "Processes over time"),
        element("div", zoom, class_="controls", id="zoom", hidden=True),
        picture,
        legend(),
        class_="card",
    )


def in_tree_order(processes: Sequence[Process]) -> list[tuple[Process, int]]:
    """Children follow their parent, with their depth below the first."""
    children: dict[int | None, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    order: list[tuple[Process, int]] = []
    waiting = [(process, 0) for process in reversed(children.get(None, []))]
    while waiting:
        process, depth = waiting.pop()
        order.append((process, depth))
        waiting.extend((child, depth + 1) for child in reversed(children.get(process.number, [])))
    return order


class _Drawing:
    """Positions in per cent of the time shown, so that the picture fits every width without a script."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._order = in_tree_order(recording.processes)
        self._row = {process.number: index for index, (process, _) in enumerate(self._order)}
        self._begin = min((process.begin for process in recording.processes), default=0.0)
        self._length = max(recording.end - self._begin, 1e-6)
        self._lanes = _accelerators(recording.processes)
        self._row_height = _PADDING + _LANE * max(1, len(self._lanes))
        self._height = self._row_height * max(1, len(self._order))
        self._is_crowded = sum(len(process.departures) for process in recording.processes) > _MOST_EDGES

    def corner(self) -> Markup:
        return element("div", "process", class_="corner")

    def axis(self) -> Markup:
        marks = []
        for at in _ticks(self._length):
            x = self._at(self._begin + at)
            marks.append(element("line", x1=x, x2=x, y1=18, y2=24))
            if at < self._length * 0.95:
                marks.append(element("text", duration(at), x=x, y=14, class_="tick"))
        return element("svg", join(marks), height=24, class_="axis", aria_hidden="true")

    def labels(self) -> Markup:
        parts = []
        for index, (process, depth) in enumerate(self._order):
            top = index * self._row_height
            name = element("text", phrases.pid(process), x=8 + 12 * min(depth, 6), y=top + 16, class_="pid")
            parts.append(element("a", name, href=f"#process-{process.number}", tabindex=-1))
            for lane, accelerator in enumerate(self._lanes):
                if accelerator in process.last_states:
                    y = top + _PADDING / 2 + lane * _LANE + 10
                    parts.append(element("text", accelerator, x="100%", dx=-8, y=y, class_="lane-name"))
        return element(
            "svg", join(parts), width="100%", height=self._height, class_="labels", aria_hidden="true"
        )

    def lanes(self) -> Markup:
        height = self._row_height
        stripes = (
            element("rect", y=index * height, height=height, width="100%", class_="stripe")
            for index in range(1, len(self._order), 2)
        )
        grid = (
            element("line", x1=x, x2=x, y1=0, y2=self._height, class_="grid")
            for x in map(self._at, (self._begin + at for at in _ticks(self._length)))
        )
        parts = [*stripes, *grid]
        for draw in (self._edges, self._life, self._arrivals, self._wakes):
            for process, _ in self._order:
                parts += draw(process)
        return element(
            "svg",
            join(parts),
            height=self._height,
            class_="lanes",
            role="img",
            aria_label="One row for each process, a bar for each accelerator, a line for each fork",
        )

    def _life(self, process: Process) -> Iterator[Markup]:
        top = self._row[process.number] * self._row_height
        shown = [
            stretch
            for stretch in process.stretches
            if stretch.accelerator in self._lanes and stretch.status is not Status.ABSENT
        ]
        if not shown:
            middle = self._middle(process.number)
            yield element(
                "line",
                x1=self._at(process.begin),
                x2=self._at(process.end),
                y1=middle,
                y2=middle,
                class_="life" if process.watched else "life unwatched",
            )
        for stretch in shown:
            yield self._bar(process, stretch, top)

    def _bar(self, process: Process, stretch: Stretch, top: float) -> Markup:
        title = f"{phrases.pid(process)}: {stretch.accelerator} {phrases.state(stretch)}, "
        title += f"{duration(stretch.begin)} to {duration(stretch.end)}"
        title += f"; {stretch.reason}" if stretch.reason else ""
        place: dict[str, str | float] = {
            "x": self._at(stretch.begin),
            "y": top + _PADDING / 2 + self._lanes.index(stretch.accelerator) * _LANE + 1,
            "height": _LANE - 3,
        }
        name = f"state {stretch.status.value}"
        is_last = stretch is process.last_states[stretch.accelerator]
        if is_last and not process.ended and process.executed_at is None:
            # How long it went on is not known: a stub of its own length, open at its end.
            stub = element("rect", width=_STUB, **place, class_=f"{name} open")
            title += f"; {phrases.ending(process)}"
        else:
            # However short it was, it must be seen.
            stub = element("rect", width=_SHORTEST, **place, class_=name)
        bar = element("rect", width=self._wide(stretch.end - stretch.begin), **place, class_=name)
        return element("g", element("title", title), stub, bar)

    def _edges(self, process: Process) -> Iterator[Markup]:
        """From parent to child; of very many only the two ends are drawn, and the rest under the pointer."""
        for going, child in self._children(process):
            x = self._at(going.at)
            start, end = self._middle(process.number), self._middle(child.number)
            title = f"{phrases.pid(process)} {phrases.departure(going)} {phrases.pid(child)} "
            title += f"{phrases.moment(going.at)}, {phrases.frame_place(going.site)}"
            ends, first = [(start, end)], None
            if self._is_crowded:
                first = "departs"
                below = start + self._row_height * 0.5
                ends = [(below - 5, below), (max(below, end - self._row_height * 0.75), end)]
            yield element(
                "g",
                element("title", title),
                join(
                    element("line", x1=x, x2=x, y1=top, y2=bottom, class_=None if index else first)
                    for index, (top, bottom) in enumerate(ends)
                ),
                element("line", x1=x, x2=x, y1=start, y2=end, class_="reach"),
                class_=f"edge {_edge_class(going, child)}",
            )

    def _arrivals(self, process: Process) -> Iterator[Markup]:
        for going, child in self._children(process):
            x, y = self._at(going.at), self._middle(child.number)
            yield element("circle", cx=x, cy=y, r=3, class_=f"arrival {_edge_class(going, child)}")

    def _children(self, process: Process) -> Iterator[tuple[Departure, Process]]:
        for going in process.departures:
            if going.child in self._row:
                yield going, self._recording.processes[going.child]

    def _middle(self, number: int) -> float:
        return (self._row[number] + 0.5) * self._row_height

    def _wakes(self, process: Process) -> Iterator[Markup]:
        for wake in process.wakes:
            if wake.accelerator not in self._lanes:
                continue
            lane = self._lanes.index(wake.accelerator)
            y = self._row[process.number] * self._row_height + _PADDING / 2 + lane * _LANE + _LANE / 2 - 0.5
            who = wake.waker
            place = phrases.NO_PLACE if who is None else phrases.place(who.path, who.line)
            title = element("title", f"{phrases.waking(wake)} {phrases.moment(wake.at)} by {place}")
            shape = element("path", title, d="M0 -7 L7 0 L0 7 L-7 0 Z", class_="wake")
            yield element("svg", shape, x=self._at(wake.at), y=y, class_="mark")

    def _at(self, moment: float) -> str:
        return self._wide(moment - self._begin)

    def _wide(self, seconds: float) -> str:
        # The last of the width stays free, so that what happens at the very end can be seen.
        return f"{max(0.0, seconds) / self._length * 98:.4f}%"


def _accelerators(processes: Sequence[Process]) -> list[str]:
    """The accelerators worth a bar: devices that were loaded anywhere, other runtimes that were awake."""
    found: dict[str, bool] = {}
    for process in processes:
        for stretch in process.stretches:
            runtime = stretch.accelerator in FORK_UNSAFE_RUNTIMES
            dull = (Status.ABSENT, Status.COLD) if runtime else (Status.ABSENT,)
            if stretch.status not in dull:
                found[stretch.accelerator] = runtime
    return sorted(found, key=lambda name: (found[name], name))[:_MOST_LANES]


def _edge_class(going: Departure, child: Process) -> str:
    if going.how is not How.FORK:
        return "spawned"
    poisoned = any(stretch.status is Status.POISONED for stretch in child.stretches)
    return "poisoned-fork" if poisoned else "fork"


def _ticks(length: float) -> list[float]:
    """Round times that divide the length into a handful of parts."""
    raw = length / _TICKS
    magnitude = 10.0 ** floor(log10(raw))
    step = next((factor * magnitude for factor in (1, 2, 5) if raw <= factor * magnitude), 10 * magnitude)
    return [round(index * step, 9) for index in range(int(length / step) + 1)]
