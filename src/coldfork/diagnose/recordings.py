"""Adds facts from a recording of `coldfork run` to a log: the lines that woke the device and forked."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Waking
from coldfork.diagnose.logs.records import LogFrame
from coldfork.model.diagnosis import Place, Step
from coldfork.model.errors import ColdforkError
from coldfork.model.states import Frame
from coldfork.model.timelines import Recording
from coldfork.report.recordings.assembly.files import read
from coldfork.report.recordings.summary.outcomes import Outcome, outcome


@dataclass(frozen=True, slots=True)
class Recorded:
    """The line that woke the device and the line that forked, according to a recording."""

    wakings: tuple[Waking, ...] = ()
    fork: Place | None = None


def recorded(file: Path) -> Recorded:
    """Return the facts in this recording; none if it is unreadable or no wake in it poisoned a child."""
    try:
        recording = read(file)
        summed_up = outcome(recording)
    except ColdforkError:
        return Recorded()
    waker = summed_up.wake.waker if summed_up.wake is not None else None
    wakings: tuple[Waking, ...] = ()
    if waker is not None and waker.path is not None and summed_up.poisoned:
        chain = tuple(
            f"{site.module}  {site.path}:{site.line}" if site.line else site.module
            for site in waker.import_chain
        )
        steps = tuple(
            Step(frame.path, frame.function, linecache.getline(frame.path, frame.line).strip())
            for frame in waker.stack
        )
        path, line = _of_the_program(waker.path, waker.line, waker.stack)
        wakings = (Waking(Place(path, line, waker.call), waker.module, None, chain, steps),)
    return Recorded(wakings, _fork(recording, summed_up))


def _of_the_program(path: str, line: int | None, stack: Sequence[Frame]) -> tuple[str, int | None]:
    """Return the waking line or, if that is in a launcher, the program's innermost line."""
    if _is_foreign(path):
        for frame in reversed(stack):
            if not _is_foreign(frame.path):
                return frame.path, frame.line
    return path, line


def _is_foreign(path: str) -> bool:
    frame = LogFrame(0, path, None, "")
    return stacks.is_standard(frame) or stacks.is_installed(frame)


def _fork(recording: Recording, summed_up: Outcome) -> Place | None:
    children = {process.number for process in summed_up.poisoned}
    for process in recording.processes:
        for departure in process.departures:
            if departure.child in children and departure.site is not None:
                return Place(departure.site.path, departure.site.line, departure.method)
    return None
