"""A test of whether other threads can have acted between two moments.

A poll that finds a device awake shows that it was woken since the previous poll, but not by which thread. If
there are several threads, the kernel is asked whether any other thread of the process ran in between: it
counts how often each thread has left a processor and for how long they have computed, and knows which of them
is running now. If no other thread ran, this thread woke the device.
"""

from __future__ import annotations

import os

# Imported by name, because gevent and others replace these functions in their modules later.
from _thread import _count, get_ident, get_native_id
from time import process_time_ns, thread_time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mark = int | tuple[int, int]

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: macOS counts only for whole processes, not for threads.
_COUNTS_THREADS = hasattr(resource, "RUSAGE_THREAD")

#: For this long, other threads may seem to have computed when they have not, because two clocks are read one
#: after the other.
NOISE_NS = 20_000
_TASKS = "/proc/self/task"


class Windows:
    """For each thread, its window: the time since it last looked at the device."""

    __slots__ = ("_counted", "_ended", "_home", "marks", "starts")

    def __init__(self) -> None:
        self.starts: int = 0
        """How many threads were started since the watch began."""
        self._counted = self._ended = 0
        """How many threads had been started when all were last seen running, and when all had ended."""
        self.marks: dict[int, Mark | None] = {}
        """For each thread, the moment when it looked last."""
        self._home = get_ident()

    def now(self) -> Mark | None:
        """Return the present moment, in the form that `keep` needs.

        Call this before looking at the device, because a wake just after the look belongs to the window that
        begins here.
        """
        if not _count() and self._ended == self.starts and get_ident() == self._home:
            # The usual case, kept cheap because each import gets here twice.
            return self.starts
        return self.starts if self._all_ended() and get_ident() == self._home else _others()

    def _all_ended(self) -> bool:
        """Return True if the thread that began the watch is the only one that Python code started.

        Python counts a thread from the moment it runs until it ends. So a count of zero is not enough,
        because a started thread may not be counted yet. It is enough if all threads were seen running at one
        time, or if the kernel lists only one thread.
        """
        running = _count()
        if running and running >= self.starts - self._ended:
            self._counted = self.starts
        elif not running and self._ended != self.starts and (self._counted == self.starts or _is_last()):
            self._ended = self._counted = self.starts
        return not running and self._ended == self.starts

    def keep(self, mark: Mark | None) -> None:
        """Record the moment at which this thread's window begins."""
        self.marks[get_ident()] = mark

    def alone(self) -> bool:
        """Return True if no other Python thread can have done anything since this thread's mark."""
        mark = self.marks.get(get_ident())
        if mark is None:
            return False
        if isinstance(mark, int):
            return mark == self.starts
        # In this order, so that if a thread stops between the two tests, the second one counts it.
        return not _somebody_runs() and _same(mark, _others())

    def forked(self) -> None:
        """In a forked child, start over with its only thread."""
        self.marks.clear()
        self._counted = self._ended = self.starts
        self._home = get_ident()
        self.keep(self.now())


def _is_last() -> bool:
    """Return True if the kernel lists only one thread; it lists every thread from its start."""
    try:
        return len(os.listdir(_TASKS)) == 1
    except OSError:
        return False


def _others() -> tuple[int, int] | None:
    """Return how often all other threads left a processor, and for how many nanoseconds they computed."""
    if not _COUNTS_THREADS:
        return None
    getrusage = resource.getrusage
    this, everyone = resource.RUSAGE_THREAD, resource.RUSAGE_SELF
    for _ in range(5):
        before = getrusage(this)
        own = thread_time_ns()
        everybody = getrusage(everyone)
        computed = process_time_ns() - own
        after = getrusage(this)
        if before[14:16] == after[14:16]:
            return int(everybody[14] + everybody[15] - after[14] - after[15]), computed
    return None


def _same(one: tuple[int, int], two: tuple[int, int] | None) -> bool:
    return two is not None and one[0] == two[0] and abs(two[1] - one[1]) <= NOISE_NS


def _somebody_runs() -> bool:
    """Return True if another thread of this process runs or is ready to run, or if that cannot be seen.

    Until a thread leaves its processor, the kernel may not have counted its work.
    """
    me = str(get_native_id())
    try:
        for task in os.listdir(_TASKS):
            if task != me and _status(task) not in ("S", "T", "t", "Z", "X", "I", ""):
                return True
    except OSError:
        return True
    return False


def _status(task: str) -> str:
    try:
        descriptor = os.open(f"{_TASKS}/{task}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""  # the thread has ended, and its time is in the kernel's counts
    try:
        said = os.read(descriptor, 1024)
    finally:
        os.close(descriptor)
    # The name is in brackets and may contain anything, even brackets. This is done for every thread inside
    # the window being measured, so no more of the line is parsed.
    return said.rpartition(b") ")[2][:1].decode("ascii")
