"""Finds equal processes in a recording, so that hundreds of workers can be shown as one row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coldfork.model.states import Waker
from coldfork.model.timelines import Departure, Process, Recording
from coldfork.report.recordings.summary import phrases

#: Up to this many equal siblings get a row each, because few machines have more devices.
MOST_ALIKE = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One process, or several equal children of one parent, with their depth below the first process."""

    members: tuple[Process, ...]
    depth: int

    @property
    def first(self) -> Process:
        """The row's process; if there are several, the first of them in the recording."""
        return self.members[0]

    @property
    def is_folded(self) -> bool:
        """Whether the row stands for more than one process."""
        return len(self.members) > 1


class Family:
    """The processes of a recording in tree order, grouped by equality."""

    def __init__(self, recording: Recording) -> None:
        self._children: defaultdict[int | None, list[Process]] = defaultdict(list)
        for process in recording.processes:
            self._children[process.parent].append(process)
        self.starts: Mapping[int, Departure] = starts(recording)
        self._kinds = self._found_kinds(recording)

    def rows(self) -> Iterator[Row]:
        """Yield all processes in rows, children below their parent; many equal ones share a row."""
        waiting = self._grouped(self._children[None], 0)[::-1]
        while waiting:
            row = waiting.pop()
            yield row
            if not row.is_folded:
                waiting += self._grouped(self._children[row.first.number], row.depth + 1)[::-1]

    def each(self, row: Row) -> list[Row]:
        """Return single rows for the processes that a row stands for, and for all their descendants."""
        found = []
        waiting = [Row((member,), row.depth) for member in reversed(row.members)]
        while waiting:
            single = waiting.pop()
            found.append(single)
            below = self._children[single.first.number]
            waiting += [Row((child,), single.depth + 1) for child in reversed(below)]
        return found

    def _grouped(self, siblings: Sequence[Process], depth: int) -> list[Row]:
        groups: defaultdict[int, list[Process]] = defaultdict(list)
        for process in siblings:
            groups[self._kinds[process.number]].append(process)
        rows = []
        for process in siblings:
            alike = groups[self._kinds[process.number]]
            if len(alike) <= MOST_ALIKE:
                rows.append(Row((process,), depth))
            elif process is alike[0]:
                rows.append(Row(tuple(alike), depth))
        return rows

    def _found_kinds(self, recording: Recording) -> Mapping[int, int]:
        """Return a number for each process; processes that are equal, with equal descendants, share one."""
        numbers: dict[object, int] = {}
        kinds: dict[int, int] = {}
        # Parents begin before their children, so going backwards reaches all children before their parent.
        for process in sorted(recording.processes, key=lambda one: -one.number):
            below = Counter(kinds[child.number] for child in self._children[process.number])
            own = fate(process, self.starts.get(process.number))
            kinds[process.number] = numbers.setdefault((own, frozenset(below.items())), len(numbers))
        return kinds


def starts(recording: Recording) -> Mapping[int, Departure]:
    """Return the fork, spawn or exec that created each process, by the process's number."""
    return {
        going.child: going
        for process in recording.processes
        for going in process.departures
        if going.child is not None
    }


def fate(process: Process, start: Departure | None) -> object:
    """Return a key that processes share if their descriptions differ only in numbers and times."""
    return (
        process.how,
        phrases.command(process),
        phrases.ending(process),
        process.unseen,
        _beginning(start),
        tuple(
            (one.accelerator, one.status, one.level, one.inferred, one.reason) for one in process.stretches
        ),
        tuple((wake.accelerator, wake.level, _woken_by(wake.waker)) for wake in process.wakes),
        frozenset(happening.kind for happening in process.happenings),
    )


def _beginning(start: Departure | None) -> object:
    if start is None:
        return None
    verdicts: Iterable[object] = start.verdicts.items()
    return start.method, start.site, start.purpose, frozenset(verdicts)


def _woken_by(waker: Waker | None) -> object:
    return None if waker is None else (waker.path, waker.line, waker.call)
