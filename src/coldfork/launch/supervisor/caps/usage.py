"""What processes use, as the kernel counts it: their memory, shared pages once, and their processor time."""

from __future__ import annotations

import os
from time import clock_gettime

from coldfork.observe.processes.table import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_SCHEDULER_CLOCK = 2


def memory(pids: Iterable[int]) -> int:
    """The bytes of memory that processes hold together; a page that several share counts once among them.

    Summed over their PSS, which is a process's own pages and its share of the others. Of one whose PSS may
    not be read, what is resident counts. A process that is gone holds nothing.
    """
    return sum(map(_held, pids))


def _held(pid: int) -> int:
    share = proportional(pid)
    return resident(pid) if share is None else share


def proportional(pid: int) -> int | None:
    """The PSS of a process; None where it may not be read, as of one that runs as somebody else."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as stream:
            for line in stream:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        # Gone, or a zombie, or a kernel that does not keep this: only the last still has pages.
        return None
    except (OSError, ValueError):
        return None
    return None


def resident(pid: int) -> int:
    """What is resident of a process, shared pages in full; nothing of one that is gone. Asking is cheap."""
    try:
        with open(f"/proc/{pid}/statm", "rb", 0) as stream:
            return int(stream.read(256).split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def anonymous(pid: int) -> int:
    """What is resident of a process and no file's, in bytes; only forked processes share any of it."""
    try:
        with open(f"/proc/{pid}/statm", "rb", 0) as stream:
            _, held, of_files, *_ = stream.read(256).split()
        return (int(held) - int(of_files)) * _PAGE
    except (OSError, ValueError):
        return 0


def faulted(pid: int) -> int:
    """The bytes of all small pages that the kernel has ever had to give a process, or to copy for it."""
    found = standing(pid)
    return 0 if found is None else found.faults * _PAGE


def processor_seconds(pid: int) -> tuple[float, float] | None:
    """The processor time of a process, and that of the children that it has waited for; None when it is gone.

    A zombie still has its own. That of a child whose parent does not wait for it is lost with it.
    """
    found = standing(pid)
    if found is None:
        return None
    own, of_children = found.times
    return max(own * _TICK_SECONDS, _on_its_clock(pid)), of_children * _TICK_SECONDS


def _on_its_clock(pid: int) -> float:
    """The processor time of a process alone, not rounded to hundredths of a second as in its `stat`."""
    try:
        # What clock_getcpuclockid of the C library returns.
        return clock_gettime((~pid << 3) | _SCHEDULER_CLOCK)
    except OSError:
        return 0.0
