"""Assembles the events of a recording into one life for each process, with its parent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from coldfork.model.forking.judgement import Deed, Held, Purpose, held
from coldfork.model.timelines import Cut, Departure, Happening, How, Process, Trouble, Wake
from coldfork.report.recordings.assembly.import_trees import nested
from coldfork.report.recordings.assembly.lines import (
    CutLine,
    EffectLine,
    Event,
    ExecLine,
    ExitLine,
    ForkedLine,
    ForkLine,
    ImportLine,
    ProcessLine,
    RunningLine,
    SeenLine,
    SpawnLine,
    StateLine,
    Told,
    TroubleLine,
    WakeLine,
    words,
)
from coldfork.report.recordings.assembly.parentage import Departing, Life, Start, link
from coldfork.report.recordings.assembly.stretches import stretches

Assembled = tuple[tuple[Process, ...], Cut | None, tuple[Trouble, ...]]


def assemble(events: Iterable[Event]) -> Assembled:
    """Return a recording's processes in the order of their beginning, its cut, and its watcher's failures."""
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
    """The processes known so far, by pid; if a pid begins again, that is another process."""

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self.troubles: list[tuple[Life, TroubleLine]] = []
        self._current: dict[int, Life] = {}
        self._dropped: dict[int, int] = {}
        self._all: list[Life] = []
        self._by_pid: defaultdict[int, list[Life]] = defaultdict(list)

    def take(self, event: Event) -> None:
        """Add an event to the life of its process."""
        if isinstance(event, CutLine):
            self._cut(event)
            return
        life = self._told(event)
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
            case ForkedLine():
                self._forked(life, event)
            case SpawnLine():
                life.departings.append(Departing(event, How.SPAWN))
            case ExecLine():
                life.departings.append(Departing(event, How.EXEC))
            case ExitLine():
                self._exit(life, event)
            case SeenLine():
                self._see(life, event)
            case RunningLine():
                life.running = True
            case TroubleLine():
                self.troubles.append((life, event))

    def linked(self) -> list[Life]:
        """Return every process with its number and parent, including those known only from their parents."""
        return link(self._all)

    def _told(self, event: Told) -> Life:
        """Return the life of the process that an event is about, with its end updated."""
        life = self._life_of(event)
        life.end = max(life.end, event.t)
        if _went_on(life, event):
            life.departings.pop()
        return life

    def _life_of(self, event: Told) -> Life:
        if isinstance(event, ProcessLine):
            return self._begin(event)
        if isinstance(event, SeenLine | RunningLine) or (isinstance(event, ExitLine) and event.start):
            return self._from_outside(event.pid, event.start, event.t)
        life = self._current.get(event.pid) or self._new(event.pid, _begin_of(event))
        if life.first is None:
            life.watched = True
        return life

    def _begin(self, line: ProcessLine) -> Life:
        how = How(line.how) if line.how in set(How) else How.UNKNOWN
        former = self._current.get(line.pid)
        life = former
        if life is None or life.first is not None or not _same_start(life, line.start):
            life = self._new(line.pid, line.t)
            if former is not None and line.start is not None and former.start == line.start:
                life.above = former
        # Imports that were recorded before the process's first line belong to the same life.
        life.first, life.how, life.command = line, how, words(line.command)
        life.start, life.watched, life.unseen = line.start, line.watched, line.reason or ""
        life.python = None if line.watched else life.python or "python"
        if line.ppid is not None:
            life.parents.insert(0, line.ppid)
        if line.states:
            life.moments.append((line.t, line.states))
        life.below = line.by
        self._stand_above(life, line)
        return life

    def _stand_above(self, life: Life, line: ProcessLine) -> None:
        """Add the processes between this one and the first; they may not be Python, and so record nothing."""
        for ancestor in line.ancestors:
            # The ancestor existed before this mention of it, and before its descendant could record anything.
            above = self._from_outside(ancestor.pid, ancestor.start, life.begin)
            above.command = above.command or words(ancestor.command)
            if life.above is None:
                life.above = above
            if above.pid is not None and not life.parents:
                life.parents.append(above.pid)
            life = above

    def _from_outside(self, pid: int, start: int | None, at: float) -> Life:
        """Return the life of a process that another one reported; `start` distinguishes equal pids."""
        current = self._current.get(pid)
        if current is not None and _same_start(current, start):
            current.start = current.start or start
            return _there_at(current, at)
        for life in reversed(self._by_pid[pid]):
            if life.start == start:
                return _there_at(life, at)
        life = self._new(pid, at, current=current is None or current.first is None)
        life.start, life.watched = start, False
        return life

    def _see(self, life: Life, line: SeenLine) -> None:
        if line.became:
            life = self._executed(life, line)
        if line.ppid is not None:
            life.parents.append(line.ppid)
        if not life.watched:
            life.command = life.command or words(line.command)
            life.python = line.python or life.python
            life.copied = not line.executed
            life.unseen = line.hidden or life.unseen

    def _executed(self, former: Life, line: SeenLine | ExitLine) -> Life:
        """Return the life of the unwatched program that a watched process became."""
        last = former.departings[-1] if former.departings else None
        if not former.watched or last is None or last.how is not How.EXEC:
            return former
        life = self._new(line.pid, line.t)
        life.start, life.how, life.watched, life.above = former.start, How.EXEC, False, former
        former.end = min(former.end, last.line.t)
        return life

    def _new(self, pid: int, begin: float, *, current: bool = True) -> Life:
        life = Life(pid, How.UNKNOWN, begin, end=begin)
        if current:
            self._current[pid] = life
        self._all.append(life)
        self._by_pid[pid].append(life)
        return life

    def _fork(self, life: Life, line: ForkLine) -> None:
        """Record a fork, which may have two lines: one just before it, and one when the child is known."""
        last = life.departings[-1] if life.departings else None
        if line.child is not None and last is not None and isinstance(before := last.line, ForkLine):
            if before.child is None and before.tid == line.tid:
                last.line = msgspec.structs.replace(
                    before,
                    child=line.child,
                    stack=before.stack or line.stack,
                    states=before.states or line.states,
                    thread=before.thread or line.thread,
                    purpose=before.purpose or line.purpose,
                    holds=before.holds or line.holds,
                    does=before.does or line.does,
                )
                return
        life.departings.append(Departing(line, How.FORK))

    def _forked(self, life: Life, line: ForkedLine) -> None:
        for going in reversed(life.departings):
            if isinstance(going.line, ForkLine) and going.line.number == line.number:
                going.line = msgspec.structs.replace(going.line, child=line.child, start=line.start)
                return

    def _exit(self, life: Life, line: ExitLine) -> None:
        """Record a process's end. It may have two lines: the process's own with states, its parent's with the
        status.
        """
        if line.python:
            life = self._executed(life, line)
        life.ended = True
        life.begun = life.begun and line.begun
        life.looked_at_end = life.looked_at_end or bool(line.states)
        if not life.watched:
            life.python = line.python or life.python
        life.status = life.status if line.status is None else line.status
        life.signal = life.signal if line.signal is None else line.signal
        life.moments.append((line.t, line.states))

    def _cut(self, line: CutLine) -> None:
        at = max((life.end for life in self._all), default=0.0) if line.t is None else line.t
        # A process may report several times how many events it has dropped; the highest count is its last.
        self._dropped[line.pid] = max(self._dropped.get(line.pid, 0), line.dropped or 0)
        first = self.cut or Cut(at, line.reason)
        self.cut = Cut(min(first.at, at), first.reason, sum(self._dropped.values()) or None)


def _went_on(life: Life, event: Told) -> bool:
    """Return whether the event shows that the process failed to execute another program."""
    last = life.departings[-1] if life.departings else None
    if last is None or last.how is not How.EXEC or isinstance(event, SeenLine | RunningLine):
        return False
    told_by_itself = not isinstance(event, ExitLine) or bool(event.states)
    return told_by_itself and event.tid == last.line.tid


def _begin_of(event: Told) -> float:
    return event.start if isinstance(event, ImportLine) else event.t


def _there_at(life: Life, moment: float) -> Life:
    """Return the life; if the process was not watched, let it begin at `moment` at the latest."""
    if life.first is None and not life.watched:
        life.begin = min(life.begin, moment)
    return life


def _same_start(life: Life, start: int | None) -> bool:
    return life.start is None or start is None or life.start == start


def _process(life: Life, before: list[Process]) -> Process:
    """Return the finished process; `before` has the processes that began earlier, including its parent."""
    # Even if the clock jumped, a process must not become the child of a later one, or of itself.
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
        python=life.python,
        unseen=life.unseen or _why_unseen(life),
        running=life.running,
        looked_at_end=life.looked_at_end,
        begun=life.begun,
        ended=life.ended,
        status=life.status,
        signal=life.signal,
        imports=nested(life.imports),
        wakes=tuple(Wake(line.t, line.accelerator, line.level, line.waker, line.tid) for line in life.wakes),
        happenings=tuple(
            Happening(line.t, line.kind, line.what or "", line.tid, line.stack, line.leaves)
            for line in life.happenings
        ),
        departures=tuple(_departure(going) for going in life.departings),
    )
    forked_from = before[parent.number] if life.how is How.FORK and parent is not None else None
    fork_states = life.by.line.states if life.by is not None and life.by.how is How.FORK else ()
    moments = [*life.moments, *((going.line.t, going.line.states) for going in life.departings)]
    return replace(process, stretches=stretches(process, moments, forked_from, fork_states))


def _why_unseen(life: Life) -> str:
    """Return why a process was not watched, inferred from other events because none gives the reason."""
    parent = life.parent
    if life.watched or parent is None:
        return ""
    if not parent.watched and (parent.python or parent.unseen):
        return "the process that started it was not watched"
    if not life.python:
        return ""
    if life.signal is not None:
        return f"killed by signal {life.signal} before it reported anything"
    program = life.command[0].rpartition("/")[2] if life.command else ""
    became = "" if program.startswith(("python", "pypy")) else "it became Python only after its start, and "
    return f"{became}it reported nothing"


def _departure(going: Departing) -> Departure:
    line = going.line
    method = line.method if isinstance(line, SpawnLine) else going.how.value
    thread = line.thread if isinstance(line, ForkLine) else None
    child = None if going.child is None else going.child.number
    purpose, things, does = _handed_on(line)
    return Departure(
        line.t,
        going.how,
        method,
        line.tid,
        thread,
        line.stack,
        line.states,
        child,
        purpose=purpose,
        held=things,
        does=does,
    )


def _handed_on(line: Start) -> tuple[Purpose | None, tuple[Held, ...], dict[str, Deed]]:
    if not isinstance(line, ForkLine) or line.purpose not in set(Purpose):
        return None, (), {}
    does = {name: Deed(one.who, one.call, one.steps) for name, one in line.does.items()}
    things = tuple(held(one.name, doubtful=one.doubtful) for one in line.holds)
    return Purpose(str(line.purpose)), things, does
