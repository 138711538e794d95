"""Measure the memory and processor time of a tree of processes, and check caps that the kernel cannot
enforce.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import clock_gettime, monotonic, process_time

from coldfork.observe.processes.table import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_SCHEDULER_CLOCK = 2


def memory(pids: Iterable[int]) -> int:
    """Return the memory of these processes in bytes; a page that several of them share counts once.

    This is the sum of their PSS: for each process, its own pages and its share of the others. If a PSS cannot
    be read, the resident memory counts instead. A process that has ended counts as 0.
    """
    return sum(map(_held, pids))


def _held(pid: int) -> int:
    share = proportional(pid)
    return resident(pid) if share is None else share


def proportional(pid: int) -> int | None:
    """Return a process's proportional set size; None if it cannot be read, as for another user's process."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as stream:
            for line in stream:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        # The process is gone, is a zombie, or the kernel lacks this file; only in the last case does it hold
        # memory.
        return None
    except (OSError, ValueError):
        return None
    return None


def resident(pid: int) -> int:
    """Return a process's resident memory, counting shared pages in full; 0 if it is gone. Cheap to read."""
    try:
        with open(f"/proc/{pid}/statm", "rb", 0) as stream:
            return int(stream.read(256).split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def anonymous(pid: int) -> int:
    """Return a process's resident memory apart from files; its pages are shared only by forks."""
    try:
        with open(f"/proc/{pid}/statm", "rb", 0) as stream:
            _, held, of_files, *_ = stream.read(256).split()
        return (int(held) - int(of_files)) * _PAGE
    except (OSError, ValueError):
        return 0


def faulted(pid: int) -> int:
    """Return the bytes of all small pages that the kernel has ever provided or copied for a process."""
    found = standing(pid)
    return 0 if found is None else found.faults * _PAGE


def processor_seconds(pid: int) -> tuple[float, float] | None:
    """Return the processor time of a process, and that of the children it has reaped; None if it is gone.

    A zombie still has its own time. The time of a child that nobody waits for is lost.
    """
    found = standing(pid)
    if found is None:
        return None
    own, of_children = found.times
    return max(own * _TICK_SECONDS, _on_its_clock(pid)), of_children * _TICK_SECONDS


def _on_its_clock(pid: int) -> float:
    """Return a process's processor time, not rounded to hundredths of a second as in `stat`."""
    try:
        # The clock id that the C library's `clock_getcpuclockid` would return.
        return clock_gettime((~pid << 3) | _SCHEDULER_CLOCK)
    except OSError:
        return 0.0


FASTEST = 4 * 1024**3
"""The most memory that one processor can fill in a second; the kernel clears small pages more slowly than
this.
"""
_MOST_PROCESSORS = 4
"""With more processors at once, the memory itself becomes the limit."""
_BEYOND = 0.03
"""How far beyond the cap memory may grow during a pause, as a share of the cap; the check and the kill may
take the rest of a tenth.
"""
_NEAR = 0.75
"""Above this share of a cap, shared pages are no longer counted once for each process."""
_SHORTEST_PAUSE = 0.001
_LONGEST_PAUSE = 0.25
_EASE = 4.0
"""A pause lasts this many times as long as the check before it, so that the watch stays a light load."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A process's memory figures at the time when its share was last read; reading it takes long for a large
    process.
    """

    share: int
    resident: int
    anonymous: int
    faulted: int


class MemoryWatch:
    """A watch on the memory of a tree of processes, compared with a cap in bytes."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: int = 0
        """The tree's memory at the last check; if it was far below the cap, shared pages are counted more
        than once.
        """
        self.reached: int = 0
        """The most memory that a check has found."""
        self.pause: float = _SHORTEST_PAUSE
        """Seconds until the next check."""
        self._known: dict[int, _Known] = {}
        self._asked = False
        self._asked_before = False
        self._departed = 0

    def look(self, pids: Sequence[int]) -> bool:
        """Measure these processes' memory; return whether it exceeds the cap."""
        began = process_time()
        residents = {pid: resident(pid) for pid in pids}
        held = sum(residents.values())
        self._asked = False
        if held > self.most * _NEAR:
            held = min(held, self._at_most(residents))
            if held > self.most:
                held = self._at_least(residents)
                if held <= self.most:
                    held = self._ask(residents)
        self.held = held
        self.reached = max(self.reached, held)
        room = self.most * (1 + _BEYOND) - held
        soonest = room / (FASTEST * min(_MOST_PROCESSORS, os.cpu_count() or 1))
        # Reading shares is expensive, but right after one reading a second is seldom necessary.
        ease = 0.0 if self._asked and not self._asked_before else _EASE
        self._asked_before = self._asked
        self.pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, ease * (process_time() - began), soonest))
        return held > self.most

    def _at_most(self, residents: dict[int, int]) -> int:
        """Return an upper bound of the memory: the shares at their last reading, plus all possible growth
        since then.
        """
        if not self._known:
            return self._ask(residents)
        for pid in self._known.keys() - residents.keys():
            # Memory that this process shared may now belong to the other processes alone.
            self._departed += self._known.pop(pid).share
        return self._departed + sum(self._grown(pid, resident) for pid, resident in residents.items())

    def _grown(self, pid: int, resident: int) -> int:
        known = self._known.get(pid)
        if known is None:
            return resident
        # When a page inherited in a fork is written to, it becomes the process's own, but its resident size
        # does not change.
        got = max(resident - known.resident, faulted(pid) - known.faulted, 0)
        return min(resident, known.share + got)

    def _at_least(self, residents: dict[int, int]) -> int:
        """Return a lower bound of the memory; 0 if a new process may share pages with measured ones."""
        if not residents.keys() <= self._known.keys():
            return 0
        known = self._known
        return sum(known[pid].share + anonymous(pid) - known[pid].anonymous for pid in residents)

    def _ask(self, residents: dict[int, int]) -> int:
        """Read and return the exact memory of these processes."""
        self._asked = True
        self._departed = 0
        self._known = {}
        for pid, held in residents.items():
            own, read = anonymous(pid), faulted(pid)
            share = proportional(pid)
            if share is None:
                # The share cannot be read, or the process has just ended; in the latter case this is 0.
                share = resident(pid)
            self._known[pid] = _Known(share, held, own, read)
        return sum(known.share for known in self._known.values())


class ProcessorWatch:
    """A watch on the processor time of a tree of processes, compared with a cap in seconds."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.used: float = 0.0
        self.pause: float = _SHORTEST_PAUSE
        """Seconds until the next check."""
        self._times: Mapping[int, tuple[float, float]] = {}
        """The time of each process and of its children, at the last moment when all could be read."""
        self._ended = 0.0
        self._looked = monotonic()
        self._lost = 0.0

    def look(self, pids: Sequence[int], ended: float) -> bool:
        """Measure these processes, which are listed parents first; `ended` is the time of those already
        reaped.

        Return whether they exceed the cap.
        """
        began = process_time()
        read = {pid: processor_seconds(pid) for pid in pids}
        times = {pid: time for pid, time in read.items() if time is not None}
        if len(times) == len(read):
            now = monotonic()
            self._lost += self._lost_since(times, ended, now - self._looked)
            self._times, self._ended, self._looked = times, ended, now
        over = self.take(ended + sum(map(sum, times.values())) + self._lost)
        # Pauses are short, because the time that an unreaped child has used since the last check is lost; if
        # it was never seen, all its time is lost.
        longest = _LOSING_PAUSE if self._lost else _UNSEEN_PAUSE
        self.pause = max(_EASE * (process_time() - began), min(longest, self.pause))
        return over

    def _lost_since(self, times: Mapping[int, tuple[float, float]], ended: float, elapsed: float) -> float:
        """Return the time of processes that have ended since the last check, as far as no reaper has counted
        it.

        This is the time of children for which no process has waited, but which they have used all the same.
        It is unknown when they ended: so half of the time that they may have used since the last check is
        added to their time at that check.
        """
        gone = {pid: sum(time) for pid, time in self._times.items() if pid not in times}
        known = sum(gone.values())
        stayed = self._times.keys() & times.keys()
        handed = sum(times[pid][1] - self._times[pid][1] for pid in stayed) + ended - self._ended
        if known <= max(handed, 0.0):
            return 0.0
        lost = known - handed
        running = len(gone) + sum(times[pid][0] > self._times[pid][0] for pid in stayed)
        share = min(1.0, (os.cpu_count() or 1) / running)
        return lost + len(gone) * lost / known * share * elapsed / 2

    def take(self, seconds: float) -> bool:
        """Take a reading in seconds; return whether it exceeds the cap."""
        self.used = max(self.used, seconds)
        processors = os.cpu_count() or 1
        soonest = (self.most - self.used) / processors
        self.pause = min(_LONGEST_PAUSE, max(_BEYOND * self.most / processors, soonest, _LEAST_PAUSE))
        return self.used >= self.most


_LEAST_PAUSE = 0.01
"""The kernel counts the time of children that were waited for in hundredths of a second."""
_UNSEEN_PAUSE = 0.02
"""Children that live for a shorter time are not seen, and their time is lost if no process waits for them."""
_LOSING_PAUSE = 0.004
"""At most this much of a child's time is lost."""
