"""The Python processes that run: how each was started, what it holds, and what became of its accelerators."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from coldfork.launch.outside.folder import ProcessFolder
from coldfork.launch.outside.kernel import Kernel
from coldfork.launch.outside.lineage import Lineage
from coldfork.launch.outside.ownership import Owners
from coldfork.launch.outside.process import OutsideProcess
from coldfork.launch.outside.recordings import Recordings, completed
from coldfork.launch.outside.relatives import Relatives
from coldfork.launch.outside.starts import how_started, role
from coldfork.model.errors import UsageError
from coldfork.model.running.processes import Census, RunningPython, StartedBy, Threads
from coldfork.observe.probes.reading import state_of
from coldfork.observe.recording import redaction


def census(
    folder: ProcessFolder,
    kernel: Kernel,
    asked: Sequence[int] = (),
    *,
    user: int | None = None,
    leave_out: Iterable[int] = (),
    largest_recording: int | None = None,
) -> Census:
    """Look once at the Python processes of a user, or at those named and all that they started.

    What `coldfork run` records of them is read as well, unless the file is larger than that.
    """
    return _Look(folder, kernel, largest_recording).taken(
        tuple(asked), os.getuid() if user is None else user, frozenset(leave_out)
    )


class _Look:
    """One look at the machine."""

    def __init__(self, folder: ProcessFolder, kernel: Kernel, largest_recording: int | None) -> None:
        self._folder = folder
        self._relatives = Relatives(folder, kernel)
        self._lineage = Lineage(folder, self._relatives, Owners(folder, kernel, self._relatives))
        self._recordings = Recordings(folder, largest_recording)
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._began = folder.began()
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
            return self._folder.user(process.pid) == user
        ancestors = self._relatives.ancestors(process.standing)
        return process.pid in asked or any(ancestor.pid in asked for ancestor in ancestors)

    def _seen(self, pid: int) -> RunningPython | None:
        """One process; None when it ended while it was looked at."""
        process = self._relatives.process(pid)
        if process is None:
            return None
        try:
            described = self._described(process)
            # What was read of a process that has ended meanwhile may be half of it, or another one's.
            if self._folder.standing(pid).start == process.standing.start:
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
            states = completed(states, *recorded)
        return RunningPython(
            pid=process.pid,
            parent=None,
            depth=0,
            executable=process.program,
            command=tuple(redaction.command(words)),
            started=self._began + standing.start / self._ticks,
            how=how,
            reason="the kernel shows neither a fork nor an exec of it" if how is StartedBy.UNKNOWN else None,
            role=None if how is StartedBy.FORKSERVER else role(words),
            states=states,
            threads=_threads(process),
            recording=None if recorded is None else recorded[0].name,
        )

    def _in_order(self, found: dict[int, RunningPython]) -> Iterable[RunningPython]:
        """Each behind its parent, those without one in the order in which they were started."""
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
    """The threads of a process by who started them."""
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
