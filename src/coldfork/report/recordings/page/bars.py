"""The bars of one row of the timeline: what state each accelerator was in, and when it was woken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coldfork.model.states import Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES, Process, Stretch
from coldfork.report.recordings.page.markup import Markup, element
from coldfork.report.recordings.page.scale import Scale
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.alike import Row
from coldfork.report.shared.quantities import duration

LANE = 14
PADDING = 10
_MOST_LANES = 6
#: Widths in pixels of bars that would be too narrow to be seen.
_STUB = 26
_SHORTEST = 3


def accelerators(processes: Sequence[Process]) -> list[str]:
    """The accelerators worth a bar: devices that were loaded anywhere, other runtimes that were awake."""
    found: dict[str, bool] = {}
    for process in processes:
        for stretch in process.stretches:
            runtime = stretch.accelerator in FORK_UNSAFE_RUNTIMES
            dull = (Status.ABSENT, Status.COLD) if runtime else (Status.ABSENT,)
            if stretch.status not in dull:
                found[stretch.accelerator] = runtime
    return sorted(found, key=lambda name: (found[name], name))[:_MOST_LANES]


class Bars:
    """Draws rows; a row of many processes shows when any of them was in a state."""

    def __init__(self, scale: Scale, lanes: Sequence[str]) -> None:
        self._scale = scale
        self._lanes = lanes

    @property
    def row_height(self) -> float:
        """How high each row is: the words in it can be clicked, so not less than 24 pixels."""
        return PADDING + LANE * max(1, len(self._lanes))

    def life(self, row: Row, top: float) -> Iterator[Markup]:
        """A bar for each state of each accelerator, or a thin line where there was none to show."""
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
        # Equal processes went through the same states in the same order.
        for index, stretch in enumerate(shown[0]):
            alike = [stretches[index] for stretches in shown]
            yield from self._bars(row, stretch, alike, top)

    def wakes(self, row: Row, top: float) -> Iterator[Markup]:
        """A sign for each moment in which something was woken."""
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
        # How long it went on is not known: a stub of its own length, open at its end.
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
        # However short it was, it must be seen.
        width, drawn_as = (_STUB, f"{name} open") if is_open else (_SHORTEST, name)
        stub = element("rect", width=width, **place, class_=drawn_as)
        bar = element("rect", width=self._scale.wide(end - begin), **place, class_=name)
        return element("g", element("title", title), stub, bar)
