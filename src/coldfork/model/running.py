"""Running processes, seen from outside: the results of `coldfork ps` and of `coldfork warm status`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.states import State, Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES


class StartedBy(StrEnum):
    """How a running process was started."""

    FORK = "fork"
    """It is a copy of another process, and has run no program of its own since."""
    SPAWN = "spawn"
    """multiprocessing, or a library built like it, started a fresh interpreter for it."""
    FORKSERVER = "forkserver"
    """multiprocessing's server forked it."""
    EXEC = "exec"
    """It was started as a program."""
    UNKNOWN = "unknown"
    """It could not be found out; the reason says why."""


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of a process, counted by their origin."""

    total: int
    python: int | None = None
    """Those that Python runs, including the main thread; None when they could not be told apart."""
    libraries: tuple[tuple[str, int], ...] = ()
    """The libraries that started the others, each with how many."""
    untraced: int = 0
    """How many could not be traced to what started them."""
    reason: str | None = None
    """Why they could not be told apart."""


@dataclass(frozen=True, slots=True)
class RunningPython:
    """One Python process at the moment of the census."""

    pid: int
    parent: int | None
    """The nearest of its ancestors that is listed too."""
    depth: int
    """How many of its ancestors are listed."""
    executable: str | None
    command: tuple[str, ...]
    """Its command line, without secrets."""
    started: float
    """In seconds since 1970, as the kernel's clock has it."""
    how: StartedBy
    reason: str | None = None
    """Why it is not known how it was started."""
    role: str | None = None
    """Its service to other processes: `forkserver`, `resource tracker`."""
    states: tuple[State, ...] = ()
    threads: Threads | None = None
    """None when it may not be seen."""
    recording: str | None = None
    """The file in which `coldfork run` records it."""

    @property
    def poisoned(self) -> tuple[State, ...]:
        """The accelerators that this process can no longer use, without runtimes that are not devices."""
        return tuple(
            state
            for state in self.states
            if state.status is Status.POISONED and state.accelerator not in FORK_UNSAFE_RUNTIMES
        )


@dataclass(frozen=True, slots=True)
class Census:
    """The Python processes running at one moment, each after its parent."""

    moment: float
    """When they were looked at, in seconds since 1970."""
    processes: tuple[RunningPython, ...]
    vanished: int = 0
    """How many ended while they were looked at."""
    asked: tuple[int, ...] = ()
    """The processes whose trees these are; none when they are all of a user's."""

    @property
    def poisoned(self) -> tuple[RunningPython, ...]:
        """Return the processes with a poisoned accelerator."""
        return tuple(process for process in self.processes if process.poisoned)


@dataclass(frozen=True, slots=True)
class WarmServer:
    """One server, which has imported modules, and forks a process for each script that needs them."""

    pid: int
    python: str
    modules: tuple[str, ...]
    state: str
    """`importing`, `ready`, `unfit` or `gone`."""
    began: float
    """When it was started, in seconds since 1970."""
    idle_seconds: float
    """How long ago it was last asked for a script."""
    scripts: int
    """How many scripts it has started."""
    importing: str | None = None
    """The module that it is importing."""
    trouble: str | None = None
    """Why it cannot start scripts."""
    ready_after_seconds: float | None = None
    pss_bytes: int | None = None
    """Its share of memory; memory that it shares with others is divided among them."""


@dataclass(frozen=True, slots=True)
class WarmServers:
    """A user's keeper process, and the servers that it started."""

    keeper: int | None
    """The pid of the keeper; None while none runs."""
    idle_timeout_seconds: float | None
    """After this long without a request the keeper ends."""
    servers: tuple[WarmServer, ...] = ()
