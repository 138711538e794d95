"""The processes of a recording as a tree in the terminal; siblings with the same fate are folded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from coldfork.model.states import Status
from coldfork.model.timelines import How, Process, Recording, Stretch
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.alike import fate, starts
from coldfork.report.recordings.summary.outcomes import Outcome
from coldfork.report.shared.quantities import duration
from coldfork.report.shared.sheets import Sheet

#: So many siblings with the same fate are shown before the rest are only counted.
_MOST_ALIKE = 3

_STATE_STYLES = {
    Status.AWAKE: "warning",
    Status.POISONED: "error",
    Status.UNKNOWN: "note",
    Status.COLD: "clean",
    Status.ABSENT: "quiet",
}


def process_lines(recording: Recording, summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    """Each process with how it came to run, how it ended, and the states that were not absent."""
    if not recording.processes:
        return
    yield sheet.paint("title", "processes")
    tree = _Tree(recording, sheet)
    for root in tree.children[None]:
        yield from tree.lines(root)


#: A process or a finished line, with what stands before its first line and before the others.
_Entry = tuple[Process | str, str, str]


class _Tree:
    def __init__(self, recording: Recording, sheet: Sheet) -> None:
        self._starts = starts(recording)
        self._sheet = sheet
        self.children: defaultdict[int | None, list[Process]] = defaultdict(list)
        for process in recording.processes:
            self.children[process.parent].append(process)

    def lines(self, root: Process) -> Iterator[str]:
        """The lines of a process and of all below it."""
        # A program may start a process that starts a process, and so on, ten thousand deep.
        waiting: list[_Entry] = [(root, "  ", "  ")]
        while waiting:
            item, head, rest = waiting.pop()
            if isinstance(item, Process):
                yield from self._described(item, head, rest)
                waiting.extend(reversed(list(self._below(item, rest))))
            else:
                yield f"{head}{item}"

    def _described(self, process: Process, head: str, rest: str) -> Iterator[str]:
        sheet = self._sheet
        name = sheet.paint("title", phrases.pid(process))
        life = f"{duration(process.begin)} to {duration(process.end)}, {phrases.ending(process)}"
        command = "" if process.how is How.FORK else f": {phrases.command(process)}"
        line = sheet.cut(self._arrival(process) + command, len(rest) + len(phrases.pid(process)) + 1)
        yield f"{head}{name} {line}"
        trunk = f"{rest}{sheet.trunk if self.children[process.number] else '   '}"
        yield f"{trunk}{sheet.paint('quiet', life)}"
        for stretch in _worth_showing(process):
            style = _STATE_STYLES[stretch.status]
            state = sheet.paint(style, f"{sheet.say(stretch.accelerator)} {phrases.state(stretch)}")
            since = f" from {duration(stretch.begin)}" if stretch.begin > process.begin else ""
            yield f"{trunk}{state}{since}"

    def _arrival(self, process: Process) -> str:
        arrival = phrases.arrival(process)
        if process.parent is None:
            return arrival
        if process.how is How.EXEC:
            return f"{arrival} {phrases.moment(process.begin)}"
        going = self._starts.get(process.number)
        if going is not None and going.how is not How.EXEC:
            return f"{arrival} {phrases.moment(going.at)} by {phrases.frame_place(going.site)}"
        return f"{arrival} {phrases.moment(process.begin)}"

    def _below(self, process: Process, rest: str) -> Iterator[_Entry]:
        sheet = self._sheet
        shown, left_out = self._folded(self.children[process.number])
        for index, child in enumerate(shown):
            last = index == len(shown) - 1 and not left_out
            branch = sheet.last if last else sheet.branch
            yield child, rest + branch, rest + ("   " if last else sheet.trunk)
        if left_out:
            words = f"{left_out} more like these; --format json has them all"
            yield sheet.paint("quiet", f"{sheet.letters.ellipsis} {words}"), rest + sheet.last, ""

    def _folded(self, children: list[Process]) -> tuple[list[Process], int]:
        """Those to show and how many not; what has children of its own is always shown."""
        met: Counter[object] = Counter()
        shown = []
        for child in children:
            kind = fate(child, self._starts.get(child.number))
            met[kind] += 1
            if met[kind] <= _MOST_ALIKE or self.children[child.number]:
                shown.append(child)
        return shown, len(children) - len(shown)


def _worth_showing(process: Process) -> list[Stretch]:
    """The stretches that say something: absent ones say nothing, cold ones only when nothing else follows."""
    last = process.last_states
    return [
        stretch
        for stretch in process.stretches
        if stretch.status is not Status.ABSENT
        and (stretch.status is not Status.COLD or stretch is last[stretch.accelerator])
    ]
