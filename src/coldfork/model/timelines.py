"""The contents of a recording: the imports, wakes, starts and states of each process.

`model.recordings` describes the file's lines; these classes are what the lines say when put together. Every
time is in seconds since the recording began.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from coldfork.model.forking.judgement import Deed, Held, Purpose, Verdict, judge
from coldfork.model.states import Frame, Level, State, Status, Waker

#: Runtimes that do not survive a fork but are not devices. All other names in recordings are accelerators.
FORK_UNSAFE_RUNTIMES = frozenset({"openmp", "polars", "tokenizers", "jax-cpu", "threads"})

#: A kind of effect: a forked child uses something that its parent held.
TOUCHES = "touches-poisoned"

#: Code of the standard library that starts processes; the relevant line is its caller's.
_STARTERS = re.compile(
    r"<frozen |(?:^|/)python3\.\d+/"
    r"(?:(?:multiprocessing|concurrent|asyncio)/|(?:subprocess|os|pty|threading)\.py$)"
)


#: Installed code, which runs because a line of the program's own calls it.
_INSTALLED = re.compile(r"<frozen |/(?:site|dist)-packages/|/lib(?:64)?/python3\.\d+/")


class How(StrEnum):
    """How a process was started."""

    RUN = "run"
    FORK = "fork"
    SPAWN = "spawn"
    EXEC = "exec"
    SUBPROCESS = "subprocess"
    UNKNOWN = "unknown"
    """The recording lacks the line that says how."""


@dataclass(frozen=True, slots=True)
class Import:
    """One loaded module, with the imports that loading it caused."""

    module: str
    path: str | None
    start: float
    seconds: float
    thread: int
    children: tuple[Import, ...] = ()
    finished: bool = True
    """False if only its nested imports were recorded, because it was in progress when the recording ended."""

    @property
    def own_seconds(self) -> float:
        """The time of this import without its nested imports."""
        return max(0.0, self.seconds - sum(child.seconds for child in self.children))


@dataclass(frozen=True, slots=True)
class Wake:
    """The moment when an accelerator woke, and the line that woke it."""

    at: float
    accelerator: str
    level: Level | None
    waker: Waker | None
    thread: int


@dataclass(frozen=True, slots=True)
class Happening:
    """Another effect on accelerators, with the stack in which it was seen."""

    at: float
    kind: str
    what: str
    thread: int
    stack: tuple[Frame, ...] = ()
    leaves: bool | None = None
    """For a touch: whether its error left the code that might have caught it; None if unknown."""


@dataclass(frozen=True, slots=True)
class Departure:
    """A fork, a spawn or an exec, with the state of the process then, and the resulting process."""

    at: float
    how: How
    method: str
    """`fork`, `exec`, or the way of spawning: `spawn`, `forkserver`, `subprocess`, `posix_spawn`."""
    thread: int
    thread_name: str | None
    stack: tuple[Frame, ...]
    states: tuple[State, ...]
    """The states of the departing process just before."""
    child: int | None
    """The number of the resulting process."""
    purpose: Purpose | None = None
    """The purpose of a forked child; None for other ways, or if it was not recorded."""
    held: tuple[Held, ...] = ()
    """Things that the departing process held and that a forked child might not be able to use."""

    does: Mapping[str, Deed] = field(default_factory=dict)
    """The things that the child is certain to use, by name, each with how it does so."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Return the judgement of each held thing for the child; empty if the child's purpose is not
        recorded.
        """
        if self.purpose is None:
            return {}
        return {one.name: judge(one, self.purpose, self.does) for one in self.held}

    @property
    def site(self) -> Frame | None:
        """Return the innermost line of the program's own code that caused the departure.

        If there is none, as in a server that its own command starts, return the innermost line outside the
        standard library's code that starts processes.
        """
        own = [frame for frame in self.stack if not _INSTALLED.search(frame.path)]
        others = [frame for frame in self.stack if not _STARTERS.search(frame.path)]
        return (own or others or self.stack or (None,))[-1]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A span of time in which one accelerator of one process stayed in one state."""

    accelerator: str
    begin: float
    end: float
    status: Status
    level: Level | None = None
    reason: str | None = None
    inferred: bool = False
    """True if the process was not examined, and the state follows from its parent's."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process from its first line in the recording to its last."""

    number: int
    """The process's number in the recording, because a pid may be used twice."""
    pid: int | None
    parent: int | None
    """The number of the process that started it."""
    how: How
    command: tuple[str, ...]
    begin: float
    end: float
    watched: bool = True
    """False if the process is known only from what other processes reported."""
    python: str | None = None
    """The interpreter of an unwatched process, if it ran Python."""
    unseen: str = ""
    """Why the process was not watched, if that is known."""
    ended: bool = False
    """True if its exit was seen; otherwise `end` is when it was last seen."""
    status: int | None = None
    signal: int | None = None
    running: bool = False
    """True if it was still running when the recording ended."""
    looked_at_end: bool = False
    """True if the states at its very end were seen; a killed process cannot report them."""
    begun: bool = True
    """False if Python ended before it ran any of its program, for example because the file is missing."""
    imports: tuple[Import, ...] = ()
    """The outermost imports, in the order in which they began."""
    wakes: tuple[Wake, ...] = ()
    happenings: tuple[Happening, ...] = ()
    departures: tuple[Departure, ...] = ()
    stretches: tuple[Stretch, ...] = ()

    @property
    def last_states(self) -> Mapping[str, Stretch]:
        """Return the last known state of each accelerator."""
        return {stretch.accelerator: stretch for stretch in self.stretches}

    @property
    def executed_at(self) -> float | None:
        """The time at which the process executed a program, which drops every inherited state; None if it did
        not.
        """
        return next((departure.at for departure in self.departures if departure.how is How.EXEC), None)


@dataclass(frozen=True, slots=True)
class Damage:
    """The parts of a file that could not be read."""

    lines: int = 0
    """The number of whole lines that could not be read."""
    first: int | None = None
    """The number of the first unreadable line."""
    reason: str = ""
    """Why the first one could not be read."""
    cut_short: bool = False
    """True if the last line is incomplete."""
    foreign: Mapping[str, int] = field(default_factory=dict)
    """Kinds of events unknown to this version, with the number of lines that were skipped."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The point at which the recording reached its limit; later events are not in it."""

    at: float
    reason: str
    dropped: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failure of the watch, after which it continued."""

    at: float
    process: int
    what: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """All contents of a recording, in the order of the events."""

    name: str
    """The name of the file or stream that it was read from."""
    tool: str = ""
    started: str = ""
    python: str = ""
    platform: str = ""
    command: tuple[str, ...] = ()
    cwd: str = ""
    device: str = ""
    follow: bool = True
    """Whether the processes that the program starts were also to be watched."""
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()
    cut: Cut | None = None
    troubles: tuple[Trouble, ...] = ()
    damage: Damage = Damage()

    @property
    def end(self) -> float:
        """The time of the last event."""
        return max((process.end for process in self.processes), default=0.0)
