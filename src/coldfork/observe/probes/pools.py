"""Pools of threads that a library keeps: what a forked child loses and goes on waiting for."""

from __future__ import annotations

from coldfork.observe.probes.reading import UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread


def owned(process: ProbedProcess, prefixes: tuple[str, ...]) -> tuple[NativeThread, ...] | None:
    """The threads that began in a library of such a name; None where threads cannot be read."""
    threads = process.threads
    if threads is None:
        return None
    return tuple(thread for thread in threads if thread.owner.startswith(prefixes))


def doubt(accelerator: str, process: ProbedProcess, library: str) -> Reading | None:
    """Why it cannot be said that a library has no threads, if it cannot."""
    threads = process.threads
    if threads is None:
        why = "the threads of a process cannot be read on this system"
        return Reading(accelerator, UNKNOWN, reason=why, library=library)
    lost = [thread for thread in threads if thread.library is None]
    if not lost:
        return None
    names = ", ".join(sorted({thread.name for thread in lost})[:5])
    why = f"{counted(len(lost))} could not be traced to a library: {names}"
    return Reading(accelerator, UNKNOWN, reason=why, library=library)


def counted(number: int) -> str:
    """A number of threads in words."""
    return "1 native thread" if number == 1 else f"{number} native threads"
