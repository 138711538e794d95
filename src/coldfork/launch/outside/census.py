"""List the running Python processes: how each was started, what it holds, and its accelerators' states."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from coldfork.launch.outside.kernel import Kernel
from coldfork.launch.outside.lineage import Lineage
from coldfork.launch.outside.process import OutsideProcess, Relatives
from coldfork.model.errors import ColdforkError, UsageError
from coldfork.model.running import Census, RunningPython, StartedBy, Threads
from coldfork.model.states import State, Status, Waker
from coldfork.model.timelines import How, Process, Recording
from coldfork.observe import bootstrap
from coldfork.observe.probes.reading import state_of
from coldfork.observe.processes.table import Standing
from coldfork.observe.recording import redaction
from coldfork.observe.recording.events import decode
from coldfork.report.recordings.assembly.files import read

_TOUCHED = (Status.AWAKE, Status.POISONED)
# The arguments that multiprocessing, billiard, multiprocess and loky give to `python -c` or `-m`.
_SPAWNED = re.compile(r"from [\w.]+\.spawn import spawn_main\b|\A[\w.]+\.popen_loky_posix\Z")
_SPAWN_OPTIONS = ("--multiprocessing-fork", "--billiard-fork")
_FORKSERVER = re.compile(r"from [\w.]*forkserver import main\b")
_TRACKER = re.compile(r"from [\w.]*(?:resource_tracker|semaphore_tracker) import main\b")

FORKSERVER = "forkserver"
TRACKER = "resource tracker"


def census(
    kernel: Kernel,
    asked: Sequence[int] = (),
    *,
    user: int | None = None,
    leave_out: Iterable[int] = (),
    largest_recording: int | None = None,
) -> Census:
    """Look once at a user's Python processes, or at the named processes and all their descendants.

    Their recordings by `coldfork run` are read as well, unless the file is larger than `largest_recording`.
    """
    return _Look(kernel, largest_recording).taken(
        tuple(asked), os.getuid() if user is None else user, frozenset(leave_out)
    )


class _Look:
    """One look at all processes of the machine."""

    def __init__(self, kernel: Kernel, largest_recording: int | None) -> None:
        self._kernel = kernel
        self._relatives = Relatives(kernel)
        self._lineage = Lineage(self._relatives)
        self._recordings = Recordings(kernel, largest_recording)
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._began = kernel.began()
        self._vanished = 0

    def taken(self, asked: tuple[int, ...], user: int, left_out: frozenset[int]) -> Census:
        for pid in asked:
            if self._relatives.process(pid) is None:
                raise UsageError(f"there is no process {pid}")
        wanted = [
            pid for pid in self._relatives.pids() if pid not in left_out and self._is_wanted(pid, asked, user)
        ]
        found = {one.pid: one for one in map(self._seen, wanted) if one is not None}
        return Census(time.time(), tuple(self._in_order(found)), self._vanished, asked)

    def _is_wanted(self, pid: int, asked: tuple[int, ...], user: int) -> bool:
        process = self._relatives.process(pid)
        try:
            if process is None or not self._belongs(process, asked, user):
                return False
            return process.is_python()
        except OSError:
            self._vanished += 1
            return False

    def _belongs(self, process: OutsideProcess, asked: tuple[int, ...], user: int) -> bool:
        if not asked:
            return self._kernel.user(process.pid) == user
        ancestors = self._relatives.ancestors(process.standing)
        return process.pid in asked or any(ancestor.pid in asked for ancestor in ancestors)

    def _seen(self, pid: int) -> RunningPython | None:
        """Describe one process; None if the process ended meanwhile."""
        process = self._relatives.process(pid)
        if process is None:
            return None
        try:
            described = self._described(process)
            # Read again: if the process ended meanwhile, the readings may be incomplete or belong to another
            # process.
            if self._kernel.standing(pid).start == process.standing.start:
                return described
        except OSError:
            pass
        self._vanished += 1
        return None

    def _described(self, process: OutsideProcess) -> RunningPython:
        standing, words = process.standing, process.words
        parent = self._relatives.parent(standing)
        how = how_started(standing, words, None if parent is None else parent.standing)
        states = tuple(map(state_of, self._lineage.readings(process).values()))
        recorded = self._recordings.of(process.pid)
        if recorded is not None:
            states = tuple(_completed(state, *recorded) for state in states)
        return RunningPython(
            pid=process.pid,
            parent=None,
            depth=0,
            executable=process.program,
            command=tuple(redaction.command(words)),
            started=self._began + standing.start / self._ticks,
            how=how,
            reason="the kernel shows neither that it was forked nor that it was executed"
            if how is StartedBy.UNKNOWN
            else None,
            role=None if how is StartedBy.FORKSERVER else role(words),
            states=states,
            threads=_threads(process),
            recording=None if recorded is None else recorded[0].name,
        )

    def _in_order(self, found: dict[int, RunningPython]) -> Iterable[RunningPython]:
        """Sort each process after its parent, and processes without a listed parent by start time."""
        children: dict[int | None, list[int]] = {}
        for pid in sorted(found, key=lambda pid: (found[pid].started, pid)):
            children.setdefault(self._listed_parent(pid, found), []).append(pid)
        waiting: list[tuple[int, int | None, int]] = [
            (pid, None, 0) for pid in reversed(children.get(None, ()))
        ]
        while waiting:
            pid, parent, depth = waiting.pop()
            yield replace(found[pid], parent=parent, depth=depth)
            waiting += [(child, pid, depth + 1) for child in reversed(children.get(pid, ()))]

    def _listed_parent(self, pid: int, found: dict[int, RunningPython]) -> int | None:
        process = self._relatives.process(pid)
        ancestors = self._relatives.ancestors(process.standing) if process is not None else iter(())
        return next((ancestor.pid for ancestor in ancestors if ancestor.pid in found), None)


def _threads(process: OutsideProcess) -> Threads:
    """Count the threads of a process that Python started, and those that native libraries started."""
    total = process.standing.threads
    native = process.threads
    if native is None:
        alone = total == 1
        return Threads(total, python=1 if alone else None, reason=None if alone else process.why_no_threads)
    owners = Counter(thread.owner for thread in native if thread.library is not None)
    return Threads(
        total,
        python=max(1, total - len(native)),
        libraries=tuple(sorted(owners.items(), key=lambda pair: (-pair[1], pair[0]))),
        untraced=sum(thread.library is None for thread in native),
    )


def role(words: Sequence[str]) -> str | None:
    """Return a process's role in multiprocessing, judging by its command line."""
    code = next((behind for word, behind in pairwise(words) if word == "-c"), "")
    if _FORKSERVER.search(code):
        return FORKSERVER
    return TRACKER if _TRACKER.search(code) else None


def how_started(standing: Standing, words: Sequence[str], parent: Standing | None) -> StartedBy:
    """Return how a process was started.

    A forked process keeps its parent's command line. So a process whose parent is a fork server, and whose
    command line is the server's, was forked by it.
    """
    # If the kernel does not mark forks, a process that shares its parent's memory addresses was forked: an
    # exec would have randomised them.
    copied = standing.forked or (not standing.is_noted and parent is not None and standing.is_copy_of(parent))
    if copied:
        return StartedBy.FORKSERVER if role(words) == FORKSERVER else StartedBy.FORK
    if not standing.is_noted and (parent is None or not any(standing.layout)):
        return StartedBy.UNKNOWN
    return StartedBy.SPAWN if _is_spawned(words) else StartedBy.EXEC


def _is_spawned(words: Sequence[str]) -> bool:
    if any(option in words for option in _SPAWN_OPTIONS):
        return True
    return any(_SPAWNED.search(word) for word in words[1:])


class Recordings:
    """Recordings of processes by `coldfork run`: made inside them, so more reliable than a look from outside.

    A process's recording is found through its initial environment; each file is read once.
    """

    def __init__(self, kernel: Kernel, largest: int | None = None) -> None:
        self._kernel = kernel
        self._largest = largest
        """The size above which files are not read; None means no limit."""
        self._read: dict[str, Recording | None] = {}

    def of(self, pid: int) -> tuple[Recording, Process] | None:
        """Return a process's recording, and the process's entry in it; None if there is no readable one."""
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
        # The number may have been reused, or the process may have executed another program, which is not
        # recorded.
        lives = [one for one in recording.processes if one.pid == pid and one.watched]
        if not lives or lives[-1].ended or lives[-1].executed_at is not None:
            return None
        return recording, lives[-1]

    def _place(self, pid: int) -> str | None:
        try:
            text = self._kernel.setting(pid, bootstrap.VARIABLE)
            settings = decode(text) if text else None
        except (OSError, ValueError):
            return None
        place = settings.get("recording") if isinstance(settings, dict) else None
        return place if isinstance(place, str) else None


def _completed(state: State, recording: Recording, process: Process) -> State:
    """Complete a state from a recording: awake or poisoned, how deeply, and which code woke the device."""
    known = process.last_states.get(state.accelerator)
    if known is not None and known.status in _TOUCHED and not known.inferred:
        # An accelerator never becomes cold again: one that was awake in the recording must still be awake.
        if state.status is not known.status:
            state = replace(state, status=known.status, reason=known.reason or "its recording says so")
        state = replace(state, level=known.level)
    if state.status in _TOUCHED:
        state = replace(state, waker=_waker(state.accelerator, recording, process))
    return state


def _waker(accelerator: str, recording: Recording, process: Process) -> Waker | None:
    """Return the code that woke the accelerator in this process, or in its parent before the fork."""
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
