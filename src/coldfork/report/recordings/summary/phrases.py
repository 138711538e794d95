"""Words for times, processes, states and chains that all formats of a recording share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldfork.model.states import Frame, Status, Waker
from coldfork.model.timelines import Departure, How, Process, Stretch, Wake
from coldfork.report.shared.effects import calls_to_device
from coldfork.report.shared.quantities import duration

#: The names that Python gives to the program's main module.
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
    """Return a time since the recording began: `at 3.214 s`, `at 5 min 03 s`."""
    return f"at {seconds:.3f} s" if abs(seconds) < 99.95 else f"at {duration(seconds)}"


def place(path: str | None, line: int | None) -> str:
    """Return a place as `engine/core.py:175`; if there is none, a phrase that says so."""
    if path is None:
        return NO_PLACE
    return path if line is None else f"{path}:{line}"


def frame_place(frame: Frame | None) -> str:
    """Return the place of a frame."""
    return NO_PLACE if frame is None else place(frame.path, frame.line)


def pid(process: Process) -> str:
    """Return the pid of a process as text; if it is unknown, a phrase that says so."""
    return "pid not known" if process.pid is None else str(process.pid)


def processes(count: int) -> str:
    """Return `1 process`, `2 processes`."""
    return "1 process" if count == 1 else f"{count} processes"


def was(count: int) -> str:
    """Return `was` or `were`, depending on the count."""
    return "was" if count == 1 else "were"


def names(chosen: Sequence[Process], most: int = 6) -> str:
    """Return the pids of several processes: `101, 102 and 2 whose pid is not known`."""
    known = [str(process.pid) for process in chosen if process.pid is not None]
    unknown = len(chosen) - len(known)
    if unknown:
        known.append(f"{unknown} whose pid is not known")
    return listed(tuple(known), most)


def command(process: Process) -> str:
    """Return a process's command as typed in a shell; for a part of multiprocessing, its purpose."""
    typed = " ".join(process.command)
    return next((meaning for sign, meaning in _OF_MULTIPROCESSING.items() if sign in typed), typed)


def is_of_multiprocessing(process: Process) -> bool:
    """Return whether a process's command shows that multiprocessing started it for the same program."""
    typed = " ".join(process.command)
    return any(sign in typed for sign in ("multiprocessing.spawn", "multiprocessing.forkserver"))


def arrival(process: Process) -> str:
    """Return how a process began, such as `forked`."""
    return _ARRIVED[process.how]


def departure(going: Departure) -> str:
    """Return how a process was started, such as `forked`, `spawned (forkserver)`, `executed another
    program`.
    """
    if going.how is How.FORK:
        return "forked"
    if going.how is How.EXEC:
        return "executed another program"
    return "spawned" if going.method == How.SPAWN else f"spawned ({going.method})"


def ending(process: Process) -> str:
    """Return how a process ended, as far as the end was recorded."""
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
    """Return a state in words: `awake (context)`, `poisoned`, `poisoned (inferred)`."""
    remarks = []
    if stretch.level is not None and stretch.status is Status.AWAKE:
        remarks.append(stretch.level.value)
    if stretch.inferred:
        remarks.append("inferred")
    return f"{stretch.status.value} ({', '.join(remarks)})" if remarks else stretch.status.value


def waking(wake: Wake) -> str:
    """Return which accelerator was woken, and how deeply: `cuda was woken (context)`."""
    return f"{wake.accelerator} was woken" + (f" ({wake.level.value})" if wake.level else "")


def listed(items: tuple[str, ...], most: int = 6) -> str:
    """Return `a, b and c`; of a long list, only the beginning and the number of the rest."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join([*([", ".join(items[:-1])] if items[:-1] else []), *items[-1:]])


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step of a chain: what was done to which object, and by which line."""

    verb: str
    symbol: str
    path: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """Return the place of the step's line; empty if there is none."""
        return "" if self.path is None else place(self.path, self.line)


def steps(waker: Waker) -> list[ChainStep]:
    """Return the steps of a chain, outermost first; the last one touched the device, if this was recorded."""
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
    """Return the calls from the module's line to the first well-known one, but not the calls inside it."""
    found = [
        ChainStep("", frame.function, frame.path, frame.line)
        for frame in (*waker.stack[:1], *calls_to_device(waker))
    ]
    if waker.call:
        found.append(ChainStep("calls", waker.call))
    return found
