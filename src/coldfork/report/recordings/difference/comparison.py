"""Compares two recordings: verdicts, wakes, forks, final states, imports and their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coldfork.model.states import Status
from coldfork.model.timelines import Departure, How, Import, Process, Recording, Wake
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.outcomes import Outcome, outcome

#: A time has changed if it differs by at least this share of the larger value and this many seconds.
_PART = 0.1
_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class ModuleSeen:
    """A module in a recording: its first importer, and how long its own loading took."""

    module: str
    importer: str | None
    own_seconds: float


@dataclass(frozen=True, slots=True)
class TimeChange:
    """A module whose own loading time differs between the recordings."""

    module: str
    before: float
    after: float

    @property
    def seconds(self) -> float:
        """Return how many seconds longer it took; negative if it became faster."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class CountChange:
    """An event that occurred more or fewer times than before."""

    what: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class StateChange:
    """Processes that began in the same way but ended in different states."""

    processes: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    """All differences between two recordings."""

    before: Outcome
    after: Outcome
    wakes_gone: tuple[Wake, ...]
    wakes_new: tuple[Wake, ...]
    starts: tuple[CountChange, ...]
    states: tuple[StateChange, ...]
    imports_gone: tuple[ModuleSeen, ...]
    imports_new: tuple[ModuleSeen, ...]
    importers: tuple[tuple[ModuleSeen, ModuleSeen], ...]
    """Modules whose first importer is another one now."""
    times: tuple[TimeChange, ...]
    """Changed loading times, the largest change first."""
    modules: tuple[int, int]
    seconds: tuple[float, float]
    """The total import times of the first process."""

    @property
    def same(self) -> bool:
        """Whether the recordings differ in nothing but times."""
        return not (
            self.wakes_gone
            or self.wakes_new
            or self.starts
            or self.states
            or self.imports_gone
            or self.imports_new
            or self.importers
        )


def difference(before: Recording, after: Recording) -> Difference:
    """Compare two recordings."""
    wakes = _wakes(before), _wakes(after)
    seen = _modules(before), _modules(after)
    both = [name for name in seen[0] if name in seen[1]]
    pairs = [(seen[0][name], seen[1][name]) for name in both]
    return Difference(
        before=outcome(before),
        after=outcome(after),
        wakes_gone=tuple(wake for key, wake in wakes[0].items() if key not in wakes[1]),
        wakes_new=tuple(wake for key, wake in wakes[1].items() if key not in wakes[0]),
        starts=tuple(_counted(_starts(before), _starts(after))),
        states=tuple(_states(before, after)),
        imports_gone=tuple(one for name, one in seen[0].items() if name not in seen[1]),
        imports_new=tuple(one for name, one in seen[1].items() if name not in seen[0]),
        importers=tuple((old, new) for old, new in pairs if old.importer != new.importer),
        times=tuple(sorted(_times(pairs), key=lambda change: -abs(change.seconds))),
        modules=(len(seen[0]), len(seen[1])),
        seconds=(_whole(before), _whole(after)),
    )


def roots(seen: Iterable[ModuleSeen]) -> list[tuple[ModuleSeen, int]]:
    """Of the modules that came or went together, return the outermost, each with the number of modules below
    it.
    """
    held = {one.module: one for one in seen}
    along: Counter[str] = Counter()
    for one in held.values():
        top, steps = one, 0
        while top.importer in held and steps < len(held):
            top, steps = held[top.importer], steps + 1
        along[top.module] += 1
    return [(held[name], count - 1) for name, count in along.items()]


def _wakes(recording: Recording) -> dict[tuple[object, ...], Wake]:
    """Return the first wake at each place, identified by its function because line numbers change."""
    found: dict[tuple[object, ...], Wake] = {}
    for process in recording.processes:
        for wake in process.wakes:
            waker = wake.waker
            place = None if waker is None else (waker.module or waker.path, waker.function)
            found.setdefault((wake.accelerator, wake.level, place), wake)
    return found


def _modules(recording: Recording) -> dict[str, ModuleSeen]:
    found: dict[str, ModuleSeen] = {}
    for process in recording.processes:
        waiting: list[tuple[Import, str | None]] = [(span, None) for span in reversed(process.imports)]
        while waiting:
            span, importer = waiting.pop()
            found.setdefault(span.module, ModuleSeen(span.module, importer, span.own_seconds))
            waiting.extend((child, span.module) for child in reversed(span.children))
    return found


def _times(pairs: Iterable[tuple[ModuleSeen, ModuleSeen]]) -> Iterator[TimeChange]:
    for old, new in pairs:
        change = abs(new.own_seconds - old.own_seconds)
        if change >= _SECONDS and change >= _PART * max(old.own_seconds, new.own_seconds):
            yield TimeChange(old.module, old.own_seconds, new.own_seconds)


def _whole(recording: Recording) -> float:
    first = next(iter(recording.processes), None)
    return sum(span.seconds for span in first.imports) if first else 0.0


def _starts(recording: Recording) -> Counter[str]:
    """Return, for each place and way of starting, how many processes were started and how many were
    poisoned.
    """
    found: Counter[str] = Counter()
    for process in recording.processes:
        for going in process.departures:
            child = recording.processes[going.child] if going.child is not None else None
            poisoned = {
                one.accelerator for one in (child.stretches if child else ()) if one.status is Status.POISONED
            }
            fate = f", {phrases.listed(tuple(sorted(poisoned)))} poisoned" if poisoned else ""
            found[f"{phrases.departure(going)} by {_place(going)}{fate}"] += 1
    return found


def _place(going: Departure) -> str:
    """Return where a process was started, by function, because line numbers differ between versions."""
    site = going.site
    return phrases.NO_PLACE if site is None else f"{site.path} in {site.function}"


def _counted(before: Counter[str], after: Counter[str]) -> Iterator[CountChange]:
    for what in dict.fromkeys((*before, *after)):
        if before[what] != after[what]:
            yield CountChange(what, before[what], after[what])


def _states(before: Recording, after: Recording) -> Iterator[StateChange]:
    groups = _final_states(before), _final_states(after)
    for name in dict.fromkeys((*groups[0], *groups[1])):
        old, new = groups[0].get(name, ""), groups[1].get(name, "")
        if old != new:
            yield StateChange(name, old or "no such process", new or "no such process")


def _final_states(recording: Recording) -> dict[str, str]:
    """Return, for each way of beginning, a sentence on the last states of the processes that began so."""
    groups: dict[str, Counter[str]] = {}
    for process in recording.processes:
        states = groups.setdefault(_line_of_descent(process, recording), Counter())
        for stretch in process.last_states.values():
            if stretch.status is not Status.ABSENT:
                states[f"{stretch.accelerator} {phrases.state(stretch)}"] += 1
    alone = Counter(_line_of_descent(process, recording) for process in recording.processes)
    return {name: _describe(states, alone[name]) for name, states in groups.items()}


def _describe(states: Counter[str], processes: int) -> str:
    if not states:
        return "nothing loaded"
    if processes == 1:
        return ", ".join(sorted(states))
    return ", ".join(f"{state} in {count} of {processes}" for state, count in sorted(states.items()))


def _line_of_descent(process: Process, recording: Recording) -> str:
    """Return how a process came about, as a chain: `first process > forked by serve.py in start`."""
    steps: list[str] = []
    here = process
    while here.parent is not None:
        parent = recording.processes[here.parent]
        going = next(
            (one for one in parent.departures if one.child == here.number and one.how is not How.EXEC), None
        )
        steps.append(f"{phrases.arrival(here)} by {_place(going)}" if going else phrases.arrival(here))
        here = parent
    steps.append("first process" if here.number == 0 else phrases.arrival(here))
    return " > ".join(reversed(steps))
