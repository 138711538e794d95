"""Thread pools of libraries, which a forked child lacks but waits for."""

from __future__ import annotations

from coldfork.observe.probes.reading import ABSENT, COLD, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread


def examined(
    accelerator: str,
    process: ProbedProcess,
    prefixes: tuple[str, ...],
    seen: Callable[[tuple[NativeThread, ...], str], Reading | None],
    cold: str,
) -> Reading:
    """Return a library's state: `seen` judges its threads; `cold` is the reason given if it has none."""
    library = process.library(*prefixes)
    if library is None:
        return Reading(accelerator, ABSENT)
    threads = owned(process, prefixes)
    reading = seen(threads, library) if threads else None
    return reading or doubt(accelerator, process, library) or Reading(accelerator, COLD, cold, library)


def owned(process: ProbedProcess, prefixes: tuple[str, ...]) -> tuple[NativeThread, ...] | None:
    """Return the threads that began in a library with such a prefix; None if threads are unreadable."""
    threads = process.threads
    if threads is None:
        return None
    return tuple(thread for thread in threads if thread.owner.startswith(prefixes))


def doubt(accelerator: str, process: ProbedProcess, library: str) -> Reading | None:
    """Return an `unknown` reading if a library may have threads that cannot be seen, or else None."""
    threads = process.threads
    if threads is None:
        return Reading(accelerator, UNKNOWN, process.why_no_threads, library)
    lost = [thread for thread in threads if thread.library is None]
    if not lost:
        return None
    names = ", ".join(sorted({thread.name for thread in lost})[:5])
    return Reading(
        accelerator, UNKNOWN, f"{counted(len(lost))} could not be traced to a library: {names}", library
    )


def counted(number: int) -> str:
    """Return the text for a number of threads."""
    return "1 native thread" if number == 1 else f"{number} native threads"
