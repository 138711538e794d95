"""The processes over time: one row each, a bar for each accelerator, and the forks between the rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from coldfork.model.timelines import Recording
from coldfork.report.recordings.page.bands import Band, Line, bands
from coldfork.report.recordings.page.bars import LANE, PADDING, Bars, accelerators
from coldfork.report.recordings.page.edges import Edges
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.scale import Scale
from coldfork.report.recordings.page.symbols import legend
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.alike import Family
from coldfork.report.shared.quantities import duration


def timeline(recording: Recording, family: Family) -> Markup:
    """The section with the picture; the table of processes says the same in words."""
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


class _Drawing:
    """Positions in per cent of the time shown, so that the picture fits every width without a script."""

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
        """The bands; one that belongs to a row of many stands in what that row opens."""
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
