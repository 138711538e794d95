"""Who started whom: finds the child of every fork, spawn and exec, and the parent of every process."""

from __future__ import annotations

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

#: A child may write its first line before its parent's line about it gets its time.
_CLOCK_SLACK = 0.05

#: How the process at the other end may say that it came to run. Only a forkserver forks what is spawned.
_ARRIVALS = {
    How.FORK: frozenset({How.FORK, How.UNKNOWN}),
    How.SPAWN: frozenset({How.SPAWN, How.SUBPROCESS, How.FORK, How.UNKNOWN}),
    How.EXEC: frozenset({How.EXEC, How.SUBPROCESS, How.UNKNOWN}),
}


Start = ForkLine | SpawnLine | ExecLine


@dataclass(eq=False)
class Life:
    """What is known of one process while the lines are being put together."""

    pid: int | None
    how: How
    begin: float
    first: ProcessLine | None = None
    command: tuple[str, ...] = ()
    watched: bool = True
    end: float = 0.0
    number: int = -1
    parent: Life | None = None
    by: Departing | None = None
    ended: bool = False
    status: int | None = None
    signal: int | None = None
    imports: list[ImportLine] = field(default_factory=list)
    wakes: list[WakeLine] = field(default_factory=list)
    happenings: list[EffectLine] = field(default_factory=list)
    departings: list[Departing] = field(default_factory=list)
    moments: list[tuple[float, tuple[State, ...]]] = field(default_factory=list)


@dataclass(eq=False)
class Departing:
    """A fork, spawn or exec, and the process found at its other end."""

    line: Start
    how: How
    child: Life | None = None


def link(lives: list[Life]) -> list[Life]:
    """Give every process its number and its parent, and add those that only their parent knows of."""
    everybody = sorted(lives, key=lambda life: life.begin)
    departings = [(life, going) for life in everybody for going in life.departings]
    departings.sort(key=lambda pair: pair[1].line.t)
    _match(everybody, departings)
    for life, going in departings:
        if going.child is None and going.how is not How.EXEC:
            going.child = _unwatched(life, going)
            everybody.append(going.child)
    everybody.sort(key=_started)
    _name_parents(everybody, departings)
    for number, life in enumerate(everybody):
        life.number = number
    return everybody


def _match(everybody: Iterable[Life], departings: list[tuple[Life, Departing]]) -> None:
    by_pid: defaultdict[int | None, list[Life]] = defaultdict(list)
    by_parent: defaultdict[int | None, list[Life]] = defaultdict(list)
    for life in everybody:
        if life.first is not None:
            by_pid[life.pid].append(life)
            by_parent[life.first.ppid].append(life)
    taken: defaultdict[How, set[int]] = defaultdict(set)
    # Those whose child is named choose first; the others take what is left.
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
    late_enough = other.begin >= going.line.t - _CLOCK_SLACK
    nameless_spawn = going.how is How.SPAWN and _named_child(going) is None
    if nameless_spawn and other.how is How.FORK:
        return False
    return other is not life and late_enough and other.how in _ARRIVALS[going.how]


def _named_child(going: Departing) -> int | None:
    return going.line.pid if isinstance(going.line, ExecLine) else going.line.child


def _unwatched(life: Life, going: Departing) -> Life:
    line = going.line
    command = () if isinstance(line, ForkLine) else words(line.command)
    pid = _named_child(going)
    return Life(pid, going.how, line.t, None, command, watched=False, end=line.t, parent=life, by=going)


def _started(life: Life) -> tuple[float, float]:
    """When a process was started, which is earlier than when it could say that it began."""
    return (life.begin if life.by is None else min(life.begin, life.by.line.t), life.begin)


def _name_parents(everybody: Iterable[Life], departings: Iterable[tuple[Life, Departing]]) -> None:
    owner = {id(going): life for life, going in departings}
    alive: dict[int | None, Life] = {}
    for life in everybody:
        # A process that another program became has itself for a parent, in its former life.
        if life.parent is None and life.by is not None and life.by.how is How.EXEC:
            life.parent = owner[id(life.by)]
        elif life.parent is None and life.first is not None:
            life.parent = alive.get(life.first.ppid)
        if life.parent is None and life.by is not None:
            life.parent = owner[id(life.by)]
        alive[life.pid] = life
