"""The words in which every rendering of a recording speaks of times, processes, states and chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldfork.model.states import Frame, Status, Waker
from coldfork.model.timelines import Departure, How, Process, Stretch, Wake
from coldfork.report.shared.effects import calls_to_device
from coldfork.report.shared.quantities import duration

#: The names under which the program itself runs.
PROGRAM = ("__main__", "__mp_main__")

NO_PLACE = "a place that was not seen"

_OF_MULTIPROCESSING = {
    "from multiprocessing.spawn import spawn_main": "(a process of multiprocessing)",
    "from multiprocessing.forkserver import main": "(the forkserver of multiprocessing)",
    "from multiprocessing.resource_tracker import main": "(the resource tracker of multiprocessing)",
}

_ARRIVED = {
    How.RUN: "run",
    How.FORK: "forked",
    How.SPAWN: "spawned",
    How.EXEC: "executed",
    How.SUBPROCESS: "started fresh",
    How.UNKNOWN: "how it began was not recorded",
}


def moment(seconds: float) -> str:
    """A time since the recording began: `at 3.214 s`, `at 5 min 03 s`."""
    return f"at {seconds:.3f} s" if abs(seconds) < 99.95 else f"at {duration(seconds)}"


def place(path: str | None, line: int | None) -> str:
    """A line of a file: `engine/core.py:175`; says so where there is none."""
    if path is None:
        return NO_PLACE
    return path if line is None else f"{path}:{line}"


def frame_place(frame: Frame | None) -> str:
    """The line of a frame."""
    return NO_PLACE if frame is None else place(frame.path, frame.line)


def pid(process: Process) -> str:
    """The number a process goes by."""
    return "pid not known" if process.pid is None else str(process.pid)


def processes(count: int) -> str:
    """`1 process`, `2 processes`."""
    return "1 process" if count == 1 else f"{count} processes"


def was(count: int) -> str:
    """The verb that goes with so many."""
    return "was" if count == 1 else "were"


def names(chosen: Sequence[Process], most: int = 6) -> str:
    """Several processes by their numbers: `101, 102 and 2 whose pid is not known`."""
    known = [str(process.pid) for process in chosen if process.pid is not None]
    unknown = len(chosen) - len(known)
    if unknown:
        known.append(f"{unknown} whose pid is not known")
    return listed(tuple(known), most)


def command(process: Process) -> str:
    """What the process runs, as one would type it; what multiprocessing runs by what it is for."""
    typed = " ".join(process.command)
    return next((meaning for sign, meaning in _OF_MULTIPROCESSING.items() if sign in typed), typed)


def is_of_multiprocessing(process: Process) -> bool:
    """Whether a fresh interpreter runs a part of the same program, as far as its command says."""
    typed = " ".join(process.command)
    return any(sign in typed for sign in ("multiprocessing.spawn", "multiprocessing.forkserver"))


def arrival(process: Process) -> str:
    """How a process came to run: `forked`."""
    return _ARRIVED[process.how]


def departure(going: Departure) -> str:
    """What a departure did: `forked`, `spawned (forkserver)`, `executed another program`."""
    if going.how is How.FORK:
        return "forked"
    if going.how is How.EXEC:
        return "executed another program"
    return "spawned" if going.method == How.SPAWN else f"spawned ({going.method})"


def ending(process: Process) -> str:
    """How a process ended, as far as that was seen."""
    if not process.watched:
        return f"not watched, {_how_it_ended(process)}" if process.ended else "not watched"
    if process.executed_at is not None and not process.ended:
        return "became another program"
    if not process.ended:
        return "still running" if process.running else "its end was not recorded"
    return _how_it_ended(process)


def _how_it_ended(process: Process) -> str:
    if process.signal is not None:
        return f"killed by signal {process.signal}"
    return "ended" if process.status is None else f"exit {process.status}"


def state(stretch: Stretch) -> str:
    """A state in words: `awake (context)`, `poisoned`, `poisoned (inferred)`."""
    remarks = []
    if stretch.level is not None and stretch.status is Status.AWAKE:
        remarks.append(stretch.level.value)
    if stretch.inferred:
        remarks.append("inferred")
    return f"{stretch.status.value} ({', '.join(remarks)})" if remarks else stretch.status.value


def waking(wake: Wake) -> str:
    """What woke and how deep: `cuda was woken (context)`."""
    return f"{wake.accelerator} was woken" + (f" ({wake.level.value})" if wake.level else "")


def listed(items: tuple[str, ...], most: int = 6) -> str:
    """`a, b and c`; of a long list the beginning and how many more."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join([*([", ".join(items[:-1])] if items[:-1] else []), *items[-1:]])


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step: what is done, to what, and the line that does it."""

    verb: str
    symbol: str
    path: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """The line that takes the step; empty where there is none."""
        return "" if self.path is None else place(self.path, self.line)


def steps(waker: Waker) -> list[ChainStep]:
    """Every step, outermost first; the last one is the call that touched the device, if it was seen."""
    found = []
    importer = None
    for site in waker.import_chain:
        if site.module in PROGRAM:
            found.append(ChainStep("runs", "the program"))
        elif importer is None:
            found.append(ChainStep("imports", site.module))
        else:
            found.append(ChainStep("imports", site.module, importer.path, importer.line))
        importer = site
    return found + _calls(waker)


def _calls(waker: Waker) -> list[ChainStep]:
    """The calls from the module's own line to the one known by name; what lies inside that is left out."""
    found = [
        ChainStep("", frame.function, frame.path, frame.line)
        for frame in (*waker.stack[:1], *calls_to_device(waker))
    ]
    if waker.call:
        found.append(ChainStep("calls", waker.call))
    return found
