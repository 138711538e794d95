"""What `coldfork run` has recorded of processes that still run: asked inside, and so better than any look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from coldfork.launch.outside.folder import ProcessFolder
from coldfork.model.errors import ColdforkError
from coldfork.model.states import State, Status, Waker
from coldfork.model.timelines import How, Process, Recording
from coldfork.observe import bootstrap
from coldfork.observe.recording.events import decode
from coldfork.report.recordings.assembly.files import read

_TOUCHED = (Status.AWAKE, Status.POISONED)


class Recordings:
    """Finds the recording of a process by the environment in which it was started; each file is read once."""

    def __init__(self, folder: ProcessFolder, largest: int | None = None) -> None:
        self._folder = folder
        self._largest = largest
        """Files with more bytes are left unread; None where the time does not matter."""
        self._read: dict[str, Recording | None] = {}

    def of(self, pid: int) -> tuple[Recording, Process] | None:
        """The recording of a process and its part of it; None where there is none that can be read."""
        place = self._place(pid)
        if place is None:
            return None
        if place not in self._read:
            try:
                large = self._largest is not None and Path(place).stat().st_size > self._largest
                self._read[place] = None if large else read(Path(place))
            except (ColdforkError, OSError):
                self._read[place] = None
        recording = self._read[place]
        if recording is None:
            return None
        # A number may be used again, and a process may become another program that is not watched.
        lives = [one for one in recording.processes if one.pid == pid and one.watched]
        if not lives or lives[-1].ended or lives[-1].executed_at is not None:
            return None
        return recording, lives[-1]

    def _place(self, pid: int) -> str | None:
        try:
            text = self._folder.setting(pid, bootstrap.VARIABLE)
            settings = decode(text) if text else None
        except (OSError, ValueError):
            return None
        place = settings.get("recording") if isinstance(settings, dict) else None
        return place if isinstance(place, str) else None


def completed(states: tuple[State, ...], recording: Recording, process: Process) -> tuple[State, ...]:
    """The states with what the recording knows: what is awake or poisoned, how deep, and who woke it."""
    return tuple(_completed(state, recording, process) for state in states)


def _completed(state: State, recording: Recording, process: Process) -> State:
    known = process.last_states.get(state.accelerator)
    if known is not None and known.status in _TOUCHED and not known.inferred:
        # Nothing falls asleep again, so what was awake when it was written down is awake now.
        if state.status is not known.status:
            state = replace(state, status=known.status, reason=known.reason or "its recording says so")
        state = replace(state, level=known.level)
    if state.status in _TOUCHED:
        state = replace(state, waker=_waker(state.accelerator, recording, process))
    return state


def _waker(accelerator: str, recording: Recording, process: Process) -> Waker | None:
    """Who woke it here, or in the process this one was forked from before the fork."""
    moment = recording.end
    current: Process | None = process
    while current is not None:
        found = next(
            (wake.waker for wake in current.wakes if wake.accelerator == accelerator and wake.at <= moment),
            None,
        )
        if found is not None:
            return found
        moment = current.begin
        inherits = current.how is How.FORK and current.parent is not None
        current = recording.processes[current.parent] if inherits and current.parent is not None else None
    return None
