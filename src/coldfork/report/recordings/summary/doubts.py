"""Reasons why a recording may be incomplete, and remarks on gaps that concern no device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from coldfork.model.states import Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES, How, Process, Recording
from coldfork.report.recordings.summary import phrases
from coldfork.report.shared.quantities import plural


def reasons(recording: Recording) -> Iterator[str]:
    """Yield every reason why the recording may be incomplete."""
    damage = recording.damage
    if recording.cut is not None:
        more = f"; {plural(recording.cut.dropped, 'event')} dropped" if recording.cut.dropped else ""
        reason = recording.cut.reason or "its limit"
        yield f"the recording was cut {phrases.moment(recording.cut.at)} ({reason}){more}"
    if damage.cut_short:
        yield "the file ends in the middle of a line; it was read up to there"
    if damage.lines:
        first = f"the first is line {damage.first}: {damage.reason}"
        skipped = f"{phrases.was(damage.lines)} skipped ({first})"
        yield f"{plural(damage.lines, 'line')} of the file could not be read and {skipped}"
    if damage.foreign:
        kinds = ", ".join(f"{kind!r}" for kind in sorted(damage.foreign))
        count = sum(damage.foreign.values())
        skipped = f"{phrases.was(count)} skipped: {kinds}"
        yield f"{plural(count, 'event')} of a kind that this version does not know {skipped}"
    if recording.troubles:
        first_trouble = recording.troubles[0]
        detail = f": {first_trouble.what} {first_trouble.detail}".rstrip()
        yield f"the watcher failed in {plural(len(recording.troubles), 'place')} and went on{detail}"
    yield from _doubtful_processes(recording)


def has_begun(recording: Recording) -> bool:
    """Return whether the program's own code began to run."""
    return all(process.begun for process in recording.processes)


def remarks(recording: Recording) -> Iterator[str]:
    """Yield remarks on gaps that do not affect the verdict on devices: other programs, other runtimes."""
    processes = recording.processes
    killed = sum(_was_killed_at_birth(process, follow=recording.follow) for process in processes)
    if killed:
        yield (
            f"{phrases.processes(killed)} {phrases.was(killed)} killed right after the fork, and ran nothing"
        )
    programs = sum(_is_other_program(process) for process in processes)
    if programs:
        yield f"{phrases.processes(programs)} ran another program, which was not watched"
    for name, reason in _unknown(processes):
        if name in FORK_UNSAFE_RUNTIMES:
            yield f"whether {name} was awake is unknown: {reason}"


def _doubtful_processes(recording: Recording) -> Iterator[str]:
    processes = recording.processes
    if not processes:
        yield "the recording holds no process"
    if not has_begun(recording):
        yield f"Python ended before it ran any of the program ({phrases.ending(processes[0])})"
    hidden = [
        process
        for process in processes
        if not process.watched
        and not _is_other_program(process)
        and not _was_killed_at_birth(process, follow=recording.follow)
    ]
    for why, several in _grouped(hidden, lambda process: _why_unseen(process, follow=recording.follow)):
        yield f"{phrases.processes(len(several))} {phrases.was(len(several))} started and not watched{why}"
    for why, several in _grouped(processes, _why_unfinished):
        yield f"{why.format(phrases.processes(len(several)), phrases.was(len(several)))}"
    # `coldfork run` waits for the program, and records its end after everything that the program recorded
    # itself.
    run = (process for process in processes if process.how is How.RUN and process.ended)
    if any(process.status is None and process.signal is None for process in run):
        yield "how the program ended was not recorded, nor what it may have done last"
    for process in processes:
        yield from _done_unseen(process)
    for name, reason in _unknown(processes):
        if name not in FORK_UNSAFE_RUNTIMES:
            yield f"the state of {name} was unknown for a while: {reason}"


def _grouped(
    processes: Iterable[Process], reason: Callable[[Process], str | None]
) -> Iterable[tuple[str, list[Process]]]:
    """Return the processes grouped by the reason that applies to them; those without a reason are omitted."""
    found: dict[str, list[Process]] = {}
    for process in processes:
        why = reason(process)
        if why is not None:
            found.setdefault(why, []).append(process)
    return found.items()


def _why_unseen(process: Process, *, follow: bool) -> str:
    """Return why coldfork could not watch a process; empty if the reason is unknown."""
    if process.unseen:
        ran = f", which ran {process.python}" if process.python else ""
        return f"{ran}: {process.unseen}"
    if process.python is None and process.how is not How.FORK:
        return ""
    if not follow:
        return ": the processes that a program starts are watched only with --follow"
    return ": it reported nothing"


def _why_unfinished(process: Process) -> str | None:
    """Return a phrase for a watched process whose end was not recorded."""
    if not process.watched or process.ended or process.executed_at is not None:
        return None
    return (
        "{0} {1} still running when the recording ended"
        if process.running
        else "the end of {0} was not recorded"
    )


def _done_unseen(process: Process) -> Iterator[str]:
    """Yield the devices that a killed process may have woken after its last report."""
    if not process.watched or not process.ended or process.looked_at_end or process.executed_at is not None:
        return
    loaded = [
        stretch.accelerator
        for stretch in process.last_states.values()
        if stretch.status is Status.COLD and stretch.accelerator not in FORK_UNSAFE_RUNTIMES
    ]
    if loaded and process.signal is not None:
        names = phrases.listed(tuple(sorted(loaded)))
        yield (
            f"process {phrases.pid(process)} was killed by signal {process.signal} with {names} loaded: "
            "whether it was woken just before was not seen"
        )


def _was_killed_at_birth(process: Process, *, follow: bool) -> bool:
    """Return whether a forked process was killed before its first line, so that it ran nothing."""
    return follow and process.how is How.FORK and not process.watched and process.signal is not None


def _is_other_program(process: Process) -> bool:
    """Return whether an unwatched process runs another program, rather than a part of this one."""
    if process.watched or process.python or process.unseen or process.how is How.FORK:
        return False
    return bool(process.command) and not phrases.is_of_multiprocessing(process)


def _unknown(processes: Sequence[Process]) -> list[tuple[str, str]]:
    return sorted(
        {
            (stretch.accelerator, stretch.reason or "no reason was given")
            for process in processes
            for stretch in process.stretches
            if stretch.status is Status.UNKNOWN
        }
    )
