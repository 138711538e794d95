"""Running processes, seen from outside: the results of `coldfork ps` and of `coldfork warm status`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.states import State, Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES


class StartedBy(StrEnum):
    """How a running process was started."""

    FORK = "fork"
    """It is a copy of another process, and has executed no program of its own since."""
    SPAWN = "spawn"
    """multiprocessing, or a similar library, started a fresh interpreter for it."""
    FORKSERVER = "forkserver"
    """A server of multiprocessing forked it."""
    EXEC = "exec"
    """It was started as a program."""
    UNKNOWN = "unknown"
    """It is unknown how it was started; the reason says why."""


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of a process, counted by their origin."""

    total: int
    python: int | None = None
    """The threads that Python runs, including the main thread; None if they could not be told apart."""
    libraries: tuple[tuple[str, int], ...] = ()
    """The libraries that started the others, each with the number of its threads."""
    untraced: int = 0
    """The number of threads that could not be traced to what started them."""
    reason: str | None = None
    """Why the kinds of threads could not be told apart."""


@dataclass(frozen=True, slots=True)
class RunningPython:
    """One Python process at the moment of the census."""

    pid: int
    parent: int | None
    """The nearest ancestor that is also listed."""
    depth: int
    """The number of ancestors that are listed."""
    executable: str | None
    command: tuple[str, ...]
    """Its command line, without secrets."""
    started: float
    """When it was started, in seconds since 1970, by the kernel's clock."""
    how: StartedBy
    reason: str | None = None
    """Why it is unknown how it was started."""
    role: str | None = None
    """Its service to other processes: `forkserver`, `resource tracker`."""
    states: tuple[State, ...] = ()
    threads: Threads | None = None
    """Its threads; None if this user may not see them."""
    recording: str | None = None
    """The file in which `coldfork run` records it."""

    @property
    def poisoned(self) -> tuple[State, ...]:
        """The accelerators that this process can no longer use; runtimes that are not devices do not
        count.
        """
        return tuple(
            state
            for state in self.states
            if state.status is Status.POISONED and state.accelerator not in FORK_UNSAFE_RUNTIMES
        )


@dataclass(frozen=True, slots=True)
class Census:
    """The Python processes running at one moment, each after its parent."""

    moment: float
    """When they were examined, in seconds since 1970."""
    processes: tuple[RunningPython, ...]
    vanished: int = 0
    """How many ended while they were being examined."""
    asked: tuple[int, ...] = ()
    """The processes whose trees are listed; empty if all processes of a user are."""

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
    """How many seconds ago it was last asked for a script."""
    scripts: int
    """The number of scripts that it has started."""
    importing: str | None = None
    """The module that it is importing."""
    trouble: str | None = None
    """Why it cannot start scripts."""
    ready_after_seconds: float | None = None
    pss_bytes: int | None = None
    """Its share of memory: memory that it shares with others is divided among them."""


@dataclass(frozen=True, slots=True)
class WarmServers:
    """A user's keeper process, and the servers that it started."""

    keeper: int | None
    """The pid of the keeper; None while none runs."""
    idle_timeout_seconds: float | None
    """After this many seconds without a request, the keeper ends."""
    servers: tuple[WarmServer, ...] = ()
