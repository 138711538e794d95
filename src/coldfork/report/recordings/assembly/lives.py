"""Puts the events of a recording together: one life for each process, and who started whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from coldfork.model.states import Level, State, Status
from coldfork.model.timelines import Cut, Departure, Happening, How, Process, Stretch, Trouble, Wake
from coldfork.report.recordings.assembly.import_trees import nested
from coldfork.report.recordings.assembly.lines import (
    CutLine,
    EffectLine,
    Event,
    ExecLine,
    ExitLine,
    ForkLine,
    ImportLine,
    ProcessLine,
    SpawnLine,
    StateLine,
    TroubleLine,
    WakeLine,
    words,
)
from coldfork.report.recordings.assembly.parentage import Departing, Life, link

Assembled = tuple[tuple[Process, ...], Cut | None, tuple[Trouble, ...]]


def assemble(events: Iterable[Event]) -> Assembled:
    """The processes of a recording in the order in which they began, where it was cut, and what failed."""
    lives = _Lives()
    for event in events:
        lives.take(event)
    everybody = lives.linked()
    processes: list[Process] = []
    for life in everybody:
        processes.append(_process(life, processes))
    troubles = tuple(
        Trouble(line.t, life.number, line.what, line.detail or "") for life, line in lives.troubles
    )
    return tuple(processes), lives.cut, troubles


class _Lives:
    """The processes met so far, by pid; a pid that begins again is another process."""

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self.troubles: list[tuple[Life, TroubleLine]] = []
        self._current: dict[int, Life] = {}
        self._dropped: dict[int, int] = {}
        self._all: list[Life] = []

    def take(self, event: Event) -> None:
        """Add one event to the life it belongs to."""
        if isinstance(event, CutLine):
            self._cut(event)
            return
        if isinstance(event, ProcessLine):
            life = self._begin(event)
        else:
            begin = event.start if isinstance(event, ImportLine) else event.t
            life = self._current.get(event.pid) or self._new(event.pid, begin)
        life.end = max(life.end, event.t)
        match event:
            case ImportLine():
                life.imports.append(event)
            case WakeLine():
                life.wakes.append(event)
            case EffectLine():
                life.happenings.append(event)
            case StateLine():
                life.moments.append((event.t, event.states))
            case ForkLine():
                self._fork(life, event)
            case SpawnLine():
                life.departings.append(Departing(event, How.SPAWN))
            case ExecLine():
                life.departings.append(Departing(event, How.EXEC))
            case ExitLine():
                self._exit(life, event)
            case TroubleLine():
                self.troubles.append((life, event))

    def linked(self) -> list[Life]:
        """Every process with its number and its parent, those that only a parent knows included."""
        return link(self._all)

    def _begin(self, line: ProcessLine) -> Life:
        how = How(line.how) if line.how in set(How) else How.UNKNOWN
        life = self._current.get(line.pid)
        if life is None or life.first is not None:
            life = self._new(line.pid, line.t)
        # What it imported before it could say that it began belongs to it, too.
        life.first, life.how, life.command = line, how, words(line.command)
        if line.states:
            life.moments.append((line.t, line.states))
        return life

    def _new(self, pid: int, begin: float) -> Life:
        life = self._current[pid] = Life(pid, How.UNKNOWN, begin, end=begin)
        self._all.append(life)
        return life

    def _fork(self, life: Life, line: ForkLine) -> None:
        """A fork may be written twice: just before it, and again when the child is known."""
        last = life.departings[-1] if life.departings else None
        if line.child is not None and last is not None and isinstance(last.line, ForkLine):
            if last.line.child is None and last.line.tid == line.tid:
                before = last.line
                last.line = ForkLine(
                    t=before.t,
                    pid=before.pid,
                    tid=before.tid,
                    child=line.child,
                    stack=before.stack or line.stack,
                    states=before.states or line.states,
                    thread=before.thread or line.thread,
                )
                return
        life.departings.append(Departing(line, How.FORK))

    def _exit(self, life: Life, line: ExitLine) -> None:
        """An end may be recorded twice: from inside with the states, from outside with the status."""
        life.ended = True
        life.status = life.status if line.status is None else line.status
        life.signal = life.signal if line.signal is None else line.signal
        life.moments.append((line.t, line.states))

    def _cut(self, line: CutLine) -> None:
        at = max((life.end for life in self._all), default=0.0) if line.t is None else line.t
        # Each process counts what it dropped itself, and may say so twice.
        self._dropped[line.pid] = max(self._dropped.get(line.pid, 0), line.dropped or 0)
        first = self.cut or Cut(at, line.reason)
        self.cut = Cut(min(first.at, at), first.reason, sum(self._dropped.values()) or None)


def _process(life: Life, before: list[Process]) -> Process:
    """The finished process; `before` holds those that began earlier, its parent among them."""
    # A clock that jumped must not make anybody the child of a later process, or of itself.
    parent = life.parent if life.parent is not None and life.parent.number < life.number else None
    process = Process(
        number=life.number,
        pid=life.pid,
        parent=None if parent is None else parent.number,
        how=life.how,
        command=life.command,
        begin=life.begin,
        end=life.end,
        watched=life.watched,
        ended=life.ended,
        status=life.status,
        signal=life.signal,
        imports=nested(life.imports),
        wakes=tuple(Wake(line.t, line.accelerator, line.level, line.waker, line.tid) for line in life.wakes),
        happenings=tuple(
            Happening(line.t, line.kind, line.what or "", line.tid, line.stack) for line in life.happenings
        ),
        departures=tuple(_departure(going) for going in life.departings),
    )
    forked_from = before[parent.number] if life.how is How.FORK and parent is not None else None
    fork_states = life.by.line.states if life.by is not None and life.by.how is How.FORK else ()
    moments = [*life.moments, *((going.line.t, going.line.states) for going in life.departings)]
    return replace(process, stretches=stretches(process, moments, forked_from, fork_states))


def _departure(going: Departing) -> Departure:
    line = going.line
    method = line.method if isinstance(line, SpawnLine) else going.how.value
    thread = line.thread if isinstance(line, ForkLine) else None
    child = None if going.child is None else going.child.number
    return Departure(line.t, going.how, method, line.tid, thread, line.stack, line.states, child)


_ASLEEP = (Status.ABSENT, Status.COLD)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was known of one accelerator at one moment."""

    at: float
    accelerator: str
    status: Status
    level: Level | None
    reason: str | None
    inferred: bool = False
    seen_waking: bool = False


def stretches(
    process: Process,
    moments: Iterable[tuple[float, tuple[State, ...]]],
    forked_from: Process | None,
    fork_states: Sequence[State],
) -> tuple[Stretch, ...]:
    """The states of a process over time, from what it said itself and, if it was forked, from its parent."""
    known = [
        _Known(at, state.accelerator, state.status, state.level, state.reason)
        for at, states in moments
        for state in states
    ]
    known += [
        _Known(wake.at, wake.accelerator, Status.AWAKE, wake.level, None, seen_waking=True)
        for wake in process.wakes
    ]
    told_at_birth = {item.accelerator for item in known if item.at <= process.begin}
    if forked_from is not None:
        inherited = _inherited(process.begin, forked_from, fork_states)
        known += [item for item in inherited if item.accelerator not in told_at_birth]
    # A wake comes before what is said at the same moment: it is how that came about.
    known.sort(key=lambda item: (item.at, not item.seen_waking))
    accelerators = dict.fromkeys(item.accelerator for item in known)
    return tuple(
        stretch
        for name in accelerators
        for stretch in _of_one([item for item in known if item.accelerator == name], process.end)
    )


def state_at(process: Process, accelerator: str, moment: float) -> Stretch | None:
    """The state of an accelerator at a moment; None when nothing is known of it."""
    begun = (one for one in reversed(process.stretches) if one.begin <= moment)
    return next((one for one in begun if one.accelerator == accelerator), None)


def _inherited(begin: float, parent: Process, states: Sequence[State]) -> Iterable[_Known]:
    """What a fork leaves in the child: poison where the parent was awake, doubt where it was in doubt."""
    at_fork = {state.accelerator: state.status for state in states}
    for stretch in parent.stretches:
        if stretch.accelerator not in at_fork:
            last = state_at(parent, stretch.accelerator, begin)
            if last is not None:
                at_fork[stretch.accelerator] = last.status
    origin = f"forked from process {parent.pid}"
    for name, status in at_fork.items():
        if status in (Status.AWAKE, Status.POISONED):
            reason = f"{origin}, where it was {status.value}"
            yield _Known(begin, name, Status.POISONED, None, reason, inferred=True)
        elif status is Status.UNKNOWN:
            reason = f"{origin}, where its state was unknown"
            yield _Known(begin, name, Status.UNKNOWN, None, reason, inferred=True)


def _of_one(known: list[_Known], end: float) -> list[Stretch]:
    """The stretches of one accelerator; what was asleep and is awake without a wake was unknown between."""
    made: list[Stretch] = []
    current, since, confirmed = known[0], known[0].at, known[0].at
    for item in known[1:]:
        if (item.status, item.level) == (current.status, current.level):
            confirmed = item.at
            continue
        until = item.at
        if item.status is Status.AWAKE and current.status in _ASLEEP and not item.seen_waking:
            until = confirmed
        made.append(_stretch(current, since, until))
        if until < item.at:
            reason = f"it was {current.status.value} before and awake after, and nobody saw what woke it"
            made.append(Stretch(item.accelerator, until, item.at, Status.UNKNOWN, None, reason))
        current, since, confirmed = item, item.at, item.at
    made.append(_stretch(current, since, max(end, since)))
    # A state that was corrected at the very moment it was recorded is no stretch of time.
    return [one for one in made if one.end > one.begin or one is made[-1]]


def _stretch(known: _Known, begin: float, end: float) -> Stretch:
    return Stretch(known.accelerator, begin, end, known.status, known.level, known.reason, known.inferred)
