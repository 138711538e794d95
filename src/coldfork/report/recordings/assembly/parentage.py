"""Finds the child of every fork, spawn and exec, and the parent of every process.

A process is identified by its pid and its start time, which the kernel keeps through every `exec`. If a
recording lacks them, it is identified by its parent and by the command that was started. If two processes
match, neither is chosen, because no parent is better than a wrong one.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from coldfork.model.states import State
from coldfork.model.timelines import How
from coldfork.report.recordings.assembly.lines import (
    EffectLine,
    ExecLine,
    ForkLine,
    ImportLine,
    ProcessLine,
    SpawnLine,
    WakeLine,
    words,
)

#: By the clocks, a child's first line may come slightly before its parent's line about the child.
_CLOCK_SLACK = 0.05

#: How the created process may report its start. Only a forkserver answers a spawn with a fork.
_ARRIVALS = {
    How.FORK: frozenset({How.FORK, How.UNKNOWN}),
    How.SPAWN: frozenset({How.SPAWN, How.SUBPROCESS, How.FORK, How.UNKNOWN}),
    How.EXEC: frozenset({How.EXEC, How.SUBPROCESS, How.UNKNOWN}),
}
_DEEPEST = 1000
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "ash", "busybox"})


Start = ForkLine | SpawnLine | ExecLine


@dataclass(eq=False)
class Life:
    """The facts about one process that have been gathered from the lines so far."""

    pid: int | None
    how: How
    begin: float
    start: int | None = None
    first: ProcessLine | None = None
    parents: list[int] = field(default_factory=list)
    """The pids of its parent, as reported by itself and by observers."""
    above: Life | None = None
    """Its parent process or, for an executed program, its former life."""
    below: int | None = None
    """The pid of its nearest watched ancestor, if its parent ended before it began."""
    command: tuple[str, ...] = ()
    watched: bool = True
    python: str | None = None
    unseen: str = ""
    copied: bool = False
    """Whether the facts about it are copied from the process that forked it."""
    end: float = 0.0
    number: int = -1
    parent: Life | None = None
    by: Departing | None = None
    ended: bool = False
    status: int | None = None
    signal: int | None = None
    running: bool = False
    looked_at_end: bool = False
    begun: bool = True
    imports: list[ImportLine] = field(default_factory=list)
    wakes: list[WakeLine] = field(default_factory=list)
    happenings: list[EffectLine] = field(default_factory=list)
    departings: list[Departing] = field(default_factory=list)
    moments: list[tuple[float, tuple[State, ...]]] = field(default_factory=list)


@dataclass(eq=False)
class Departing:
    """A fork, spawn or exec, and the process that it created."""

    line: Start
    how: How
    child: Life | None = None


def link(lives: list[Life]) -> list[Life]:
    """Give every process its number and parent, and add the processes that only their parents reported."""
    everybody = sorted(lives, key=lambda life: life.begin)
    departings = [(life, going) for life in everybody for going in life.departings]
    departings.sort(key=lambda pair: pair[1].line.t)
    _match(everybody, departings)
    for life, going in departings:
        unknown = going.child is None and (not isinstance(going.line, ExecLine) or going.line.python)
        if unknown:
            going.child = Life(_named_child(going), going.how, going.line.t, watched=False, by=going)
            going.child.parent = life
            everybody.append(going.child)
            if going.how is How.EXEC:
                _pass_on_the_end(life, going.child)
        if going.child is not None and not going.child.watched:
            _describe(going.child, going)
    everybody.sort(key=_started)
    _name_parents(everybody, departings)
    for number, life in enumerate(everybody):
        life.number = number
    return everybody


def _match(everybody: Iterable[Life], departings: list[tuple[Life, Departing]]) -> None:
    by_pid: defaultdict[int | None, list[Life]] = defaultdict(list)
    by_parent: defaultdict[int | None, list[Life]] = defaultdict(list)
    for life in everybody:
        by_pid[life.pid].append(life)
        for parent in dict.fromkeys(life.parents):
            by_parent[parent].append(life)
    taken: defaultdict[How, set[int]] = defaultdict(set)
    # Events that name their child are matched first, and the others with the remaining processes.
    for life, going in sorted(departings, key=lambda pair: _named_child(pair[1]) is None):
        pid = _named_child(going)
        candidates = by_parent[life.pid] if pid is None else by_pid[pid]
        child = next(
            (
                other
                for other in candidates
                if id(other) not in taken[going.how] and _fits(other, life, going)
            ),
            None,
        )
        if child is not None:
            taken[going.how].add(id(child))
            going.child = child
            child.by = going if child.by is None or going.how is How.FORK else child.by


def _fits(other: Life, life: Life, going: Departing) -> bool:
    line = going.line
    if other is life or other.how not in _ARRIVALS[going.how]:
        return False
    if isinstance(line, ForkLine | SpawnLine) and line.start is not None and other.start is not None:
        return line.start == other.start
    if other.begin < line.t - _CLOCK_SLACK:
        return False
    if isinstance(line, ForkLine):
        number = None if other.first is None else other.first.of
        return line.number is None or number is None or line.number == number
    if isinstance(line, SpawnLine) and line.child is None:
        # If its parent names a process as its child, no other process can be its parent.
        named = other.by is not None and _named_child(other.by) is not None
        return not named and other.how is not How.FORK and _is_of(words(line.command), other.command)
    return True


def _is_of(started: tuple[str, ...], seen: tuple[str, ...]) -> bool:
    """Return whether a process seen with one command may be the one that was started with the other."""
    if not started or not seen or started == seen:
        return True
    if len(started) == 1:
        # A single text is a command for a shell; the process was seen as the shell with that text, or as the
        # program that the shell executed.
        if seen[-1] == started[0] and seen[0].rpartition("/")[2] in _SHELLS:
            return True
        try:
            started = tuple(shlex.split(started[0]))
        except ValueError:
            return False
        started = started[1:] if started[:1] == ("exec",) else started
    # The program may be a bare name or a path, and a script comes after its interpreter.
    rest = started[1:]
    if rest and seen[-len(rest) :] != rest:
        return False
    named = started[0].rpartition("/")[2] if started else ""
    before = seen[: len(seen) - len(rest)]
    return named in {word.rpartition("/")[2] for word in before}


def _named_child(going: Departing) -> int | None:
    return going.line.pid if isinstance(going.line, ExecLine) else going.line.child


def _pass_on_the_end(former: Life, life: Life) -> None:
    """Move the recorded end of a process to the last program that the process became."""
    life.start, life.end = former.start, former.end
    life.ended, life.status, life.signal = former.ended, former.status, former.signal
    life.running = former.running
    former.end = life.begin
    former.ended, former.status, former.signal, former.running = False, None, None, False


def _describe(life: Life, going: Departing) -> None:
    """Describe a process that recorded nothing itself, from its parent's report."""
    line = going.line
    life.begin = min(life.begin, line.t)
    life.end = max(life.end, line.t)
    if isinstance(line, ForkLine | SpawnLine):
        life.start = line.start if life.start is None else life.start
    if isinstance(line, ExecLine):
        life.command = life.command or words(line.command)
        life.python = line.python or life.python
        life.unseen = life.unseen or line.hidden or ""
    if isinstance(line, SpawnLine):
        life.command = words(line.command) or life.command
        if life.copied:
            # The process was observed between two programs, so its earlier description is outdated.
            life.python = None
        life.python = line.python or life.python
        life.unseen = line.hidden or life.unseen
    life.how = going.how if life.how is How.UNKNOWN else life.how


def _started(life: Life) -> tuple[float, float, int]:
    """Return a sort key by the start of a process, which is earlier than its first line.

    If two processes have the same time, the parent sorts first.
    """
    above, depth = life.above, 0
    while above is not None and depth < _DEEPEST:
        above, depth = above.above, depth + 1
    return (life.begin if life.by is None else min(life.begin, life.by.line.t), life.begin, depth)


def _name_parents(everybody: Iterable[Life], departings: Iterable[tuple[Life, Departing]]) -> None:
    owner = {id(going): life for life, going in departings}
    alive: dict[int | None, Life] = {}
    for life in everybody:
        by = life.by
        if life.parent is None and by is not None and (by.how is How.EXEC or _named_child(by) is not None):
            # A process that executed a program counts as the parent of that program.
            life.parent = owner[id(by)]
        if life.parent is None:
            life.parent = life.above
        if life.parent is None:
            life.parent = next((alive[pid] for pid in life.parents if pid in alive), None)
        if life.parent is None and by is not None:
            life.parent = owner[id(by)]
        if life.parent is None and life.below in alive:
            life.parent = _told_to_start(alive[life.below], life)
        alive[life.pid] = life


def _told_to_start(ancestor: Life, orphan: Life) -> Life:
    """Return the presumed starter of an orphan: the ancestor's only child whose command mentions the orphan's
    command.

    If there is no such child, or more than one, return the ancestor itself.
    """
    wanted = " ".join(orphan.command[1:])
    told = [
        going.child
        for going in ancestor.departings
        if going.child is not None
        and not going.child.watched
        and going.line.t <= orphan.begin
        and wanted
        and any(wanted in word for word in going.child.command)
    ]
    return told[0] if len(told) == 1 else ancestor
