"""Why a recording may be incomplete, and what of that concerns no device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coldfork.model.states import Status
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES, How, Process, Recording
from coldfork.report.recordings.summary import phrases
from coldfork.report.shared.quantities import plural


def reasons(recording: Recording) -> Iterator[str]:
    """Every reason why the recording may be incomplete."""
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
        yield f"{plural(damage.lines, 'line')} of the file made no sense and {skipped}"
    if damage.foreign:
        kinds = ", ".join(f"{kind!r}" for kind in sorted(damage.foreign))
        count = sum(damage.foreign.values())
        skipped = f"{phrases.was(count)} skipped: {kinds}"
        yield f"{plural(count, 'event')} of a kind that this version does not know {skipped}"
    if recording.troubles:
        first_trouble = recording.troubles[0]
        detail = f": {first_trouble.what} {first_trouble.detail}".rstrip()
        yield f"the watcher failed in {plural(len(recording.troubles), 'place')} and went on{detail}"
    yield from _doubtful_processes(recording.processes)


def remarks(processes: Sequence[Process]) -> Iterator[str]:
    """What was not seen and leaves the verdict on devices as it is: other programs, other runtimes."""
    programs = sum(_is_other_program(process) for process in processes)
    if programs:
        yield f"{phrases.processes(programs)} ran another program, which was not watched"
    for name, reason in _unknown(processes):
        if name in FORK_UNSAFE_RUNTIMES:
            yield f"whether {name} was awake is unknown: {reason}"


def _doubtful_processes(processes: Sequence[Process]) -> Iterator[str]:
    if not processes:
        yield "no process is in the recording"
    unwatched = sum(not process.watched and not _is_other_program(process) for process in processes)
    if unwatched:
        yield f"{phrases.processes(unwatched)} {phrases.was(unwatched)} started and not watched"
    endless = sum(
        process.watched and not process.ended and process.executed_at is None for process in processes
    )
    if endless:
        yield f"the end of {phrases.processes(endless)} was not recorded"
    # Whoever runs a program for us waits for it, and writes down how it ended after all that it wrote itself.
    run = (process for process in processes if process.how is How.RUN and process.ended)
    if any(process.status is None and process.signal is None for process in run):
        yield "how the program ended was not recorded, nor what it may have done last"
    for name, reason in _unknown(processes):
        if name not in FORK_UNSAFE_RUNTIMES:
            yield f"the state of {name} was unknown for a while: {reason}"


def _is_other_program(process: Process) -> bool:
    """Whether a process that was not watched runs a program of its own, and not a part of this one."""
    fresh = not process.watched and process.how is How.SPAWN and bool(process.command)
    return fresh and not phrases.is_of_multiprocessing(process)


def _unknown(processes: Sequence[Process]) -> list[tuple[str, str]]:
    return sorted(
        {
            (stretch.accelerator, stretch.reason or "no reason was given")
            for process in processes
            for stretch in process.stretches
            if stretch.status is Status.UNKNOWN
        }
    )
