"""The timeline of processes: one row for each, a bar for each accelerator, and forks between rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from coldfork.model.states import Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES, Process, Recording, Stretch
from coldfork.report.recordings.page.bands import Band, Line, Scale, bands
from coldfork.report.recordings.page.edges import Edges
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.symbols import legend
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.alike import Family, Row
from coldfork.report.shared.quantities import duration


def timeline(recording: Recording, family: Family) -> Markup:
    """Return the section with the timeline; the table of processes says the same in words."""
    drawing = _Drawing(recording, family)
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
        element("div", drawing.corner(), drawing.axis(), join(drawing.rows()), class_="rows"),
        class_="scroll timeline",
        id="timeline",
        tabindex=0,
        role="group",
        aria_label="Timeline of the processes, also shown in the table below. Plus and minus zoom.",
    )
    return element(
        "section",
        element("h2", "Processes over time"),
        element("div", zoom, class_="controls", id="zoom", hidden=True),
        picture,
        legend(),
        class_="card",
    )


class _Drawing:
    """Draws the timeline in per cent of the time shown, so that it fits any width without a script."""

    def __init__(self, recording: Recording, family: Family) -> None:
        begin = min((process.begin for process in recording.processes), default=0.0)
        self._scale = Scale(begin, max(recording.end - begin, 1e-6))
        self._lanes = accelerators(recording.processes)
        self._bars = Bars(self._scale, self._lanes)
        self._bands = bands(family, self._bars.row_height)
        self._edges = Edges(recording, self._bands, self._bars.row_height, self._scale)

    def corner(self) -> Markup:
        return element("div", "process", class_="corner")

    def axis(self) -> Markup:
        marks = []
        for at in self._scale.ticks():
            x = self._scale.wide(at)
            marks.append(element("line", x1=x, x2=x, y1=18, y2=24))
            if at < self._scale.length * 0.95:
                marks.append(element("text", duration(at), x=x, y=14, class_="tick"))
        return element("svg", join(marks), height=24, class_="axis", aria_hidden="true")

    def rows(self) -> Iterator[Markup]:
        """Yield the bands; bands with the members of a row of many processes are inside that row's
        element.
        """
        for band, after in zip_longest(self._bands, self._bands[1:]):
            if band.heading is not None and after is not None:
                yield self._fold(band, after)
            elif band.folded is None:
                yield join((self._labels(band), self._picture(band)))

    def _fold(self, band: Band, each: Band) -> Markup:
        row = band.lines[0].row
        words = f"{len(row.members)} equal processes, {phrases.arrival(row.first)}: show each"
        return element(
            "details",
            element("summary", self._labels(band), self._picture(band), aria_label=words),
            element("div", self._labels(each), self._picture(each), class_="each"),
            class_="fold",
        )

    def _labels(self, band: Band) -> Markup:
        parts = join(part for line in band.lines for part in self._label(band, line))
        return element("svg", parts, width="100%", height=band.height, class_="labels", aria_hidden="true")

    def _label(self, band: Band, line: Line) -> Iterator[Markup]:
        row, top = line.row, line.top - band.top
        left = 8 + 12 * min(row.depth, 6)
        if row.is_folded:
            middle = top + self._bars.row_height / 2
            yield element("path", d=f"M{left} {middle - 4} l5 4 l-5 4 Z", class_="marker")
            yield element("text", f"{len(row.members)} equal", x=left + 12, y=top + 16, class_="pid")
        else:
            area = element("rect", y=top, width="100%", height=self._bars.row_height, class_="area")
            name = element("text", phrases.pid(row.first), x=left, y=top + 16, class_="pid")
            yield element("a", area, name, href=f"#process-{row.first.number}", tabindex=-1)
        if band.folded is not None:
            return
        for lane, accelerator in enumerate(self._lanes):
            if accelerator in row.first.last_states:
                y = top + PADDING / 2 + lane * LANE + 10
                yield element("text", accelerator, x="100%", dx=-8, y=y, class_="lane-name")

    def _picture(self, band: Band) -> Markup:
        height = self._bars.row_height
        stripes = (
            element("rect", y=line.top - band.top, height=height, width="100%", class_="stripe")
            for line in band.lines
            if round(line.top / height) % 2
        )
        grid = (
            element("line", x1=x, x2=x, y1=0, y2=band.height, class_="grid")
            for x in map(self._scale.wide, self._scale.ticks())
        )
        parts = [*stripes, *grid, *self._edges.lines(band)]
        for line in band.lines:
            parts += self._bars.life(line.row, line.top - band.top)
        parts += self._edges.arrivals(band)
        for line in band.lines:
            parts += self._bars.wakes(line.row, line.top - band.top)
        return element(
            "svg",
            join(parts),
            height=band.height,
            class_="lanes",
            role="img",
            aria_label="One row for each process, a bar for each accelerator, a line for each fork",
        )


LANE = 14
PADDING = 10
_MOST_LANES = 6
#: Widths in pixels for bars that would otherwise be too narrow to see.
_STUB = 26
_SHORTEST = 3


def accelerators(processes: Sequence[Process]) -> list[str]:
    """Return the accelerators that get bars: devices that are present anywhere, and other runtimes
    that woke.
    """
    found: dict[str, bool] = {}
    for process in processes:
        for stretch in process.stretches:
            runtime = stretch.accelerator in FORK_UNSAFE_RUNTIMES
            dull = (Status.ABSENT, Status.COLD) if runtime else (Status.ABSENT,)
            if stretch.status not in dull:
                found[stretch.accelerator] = runtime
    return sorted(found, key=lambda name: (found[name], name))[:_MOST_LANES]


class Bars:
    """Draws the bars; in a row of many processes, a bar shows when any of them was in the state."""

    def __init__(self, scale: Scale, lanes: Sequence[str]) -> None:
        self._scale = scale
        self._lanes = lanes

    @property
    def row_height(self) -> float:
        """The height of each row: at least 24 pixels, so that its text is easy to click."""
        return PADDING + LANE * max(1, len(self._lanes))

    def life(self, row: Row, top: float) -> Iterator[Markup]:
        """Yield a bar for each state of each accelerator, or a thin line if the process had none."""
        shown = [self._shown(member) for member in row.members]
        if not shown[0]:
            middle = top + self.row_height / 2
            for begin, end in self._scale.merged((member.begin, member.end) for member in row.members):
                yield element(
                    "line",
                    x1=self._scale.at(begin),
                    x2=self._scale.at(end),
                    y1=middle,
                    y2=middle,
                    class_="life" if row.first.watched else "life unwatched",
                )
        # Equal processes had the same states in the same order, so the states can be paired by position.
        for index, stretch in enumerate(shown[0]):
            alike = [stretches[index] for stretches in shown]
            yield from self._bars(row, stretch, alike, top)

    def wakes(self, row: Row, top: float) -> Iterator[Markup]:
        """Yield a sign for each wake."""
        for index, wake in enumerate(row.first.wakes):
            if wake.accelerator not in self._lanes:
                continue
            y = top + PADDING / 2 + self._lanes.index(wake.accelerator) * LANE + LANE / 2 - 0.5
            who = wake.waker
            place = phrases.NO_PLACE if who is None else phrases.place(who.path, who.line)
            words = phrases.waking(wake)
            for at in self._scale.apart(member.wakes[index].at for member in row.members):
                title = element("title", f"{words} {phrases.moment(at)} by {place}")
                shape = element("path", title, d="M0 -7 L7 0 L0 7 L-7 0 Z", class_="wake")
                yield element("svg", shape, x=self._scale.at(at), y=y, class_="mark")

    def _shown(self, process: Process) -> list[Stretch]:
        return [
            stretch
            for stretch in process.stretches
            if stretch.accelerator in self._lanes and stretch.status is not Status.ABSENT
        ]

    def _bars(self, row: Row, stretch: Stretch, alike: Sequence[Stretch], top: float) -> Iterator[Markup]:
        process = row.first
        is_last = stretch is process.last_states[stretch.accelerator]
        # If the end was not recorded, the state ends in a stub of fixed length, which is left open.
        is_open = is_last and not process.ended and process.executed_at is None
        who = phrases.processes(len(row.members)) if row.is_folded else phrases.pid(process)
        for begin, end in self._scale.merged((one.begin, one.end) for one in alike):
            title = f"{who}: {stretch.accelerator} {phrases.state(stretch)}, "
            title += f"{duration(begin)} to {duration(end)}"
            title += f"; {stretch.reason}" if stretch.reason else ""
            title += f"; {phrases.ending(process)}" if is_open else ""
            yield self._bar(stretch, begin, end, top, title, is_open=is_open)

    def _bar(
        self, stretch: Stretch, begin: float, end: float, top: float, title: str, *, is_open: bool
    ) -> Markup:
        place: dict[str, str | float] = {
            "x": self._scale.at(begin),
            "y": top + PADDING / 2 + self._lanes.index(stretch.accelerator) * LANE + 1,
            "height": LANE - 3,
        }
        name = f"state {stretch.status.value}"
        # A bar of minimal width is drawn as well, so that even the shortest state is visible.
        width, drawn_as = (_STUB, f"{name} open") if is_open else (_SHORTEST, name)
        stub = element("rect", width=width, **place, class_=drawn_as)
        bar = element("rect", width=self._scale.wide(end - begin), **place, class_=name)
        return element("g", element("title", title), stub, bar)
