"""The outcome of a recording: cold, woken, poisoned or unknown, with the waker and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.states import Status, Waker
from coldfork.model.timelines import FORK_UNSAFE_RUNTIMES, How, Process, Recording, Stretch, Wake
from coldfork.report.recordings.summary import forks, phrases
from coldfork.report.recordings.summary.doubts import has_begun, reasons, remarks


class Standing(StrEnum):
    """The verdict on a recording, in one word."""

    COLD = "cold"
    """No device was woken in any process, and everything was seen."""
    WOKEN = "woken"
    """A device was woken, but no forked process is known to be harmed by that."""
    POISONED = "poisoned"
    """A process is known to be harmed because it was forked while a device, or a runtime that survives no
    fork, was awake.
    """
    UNKNOWN = "unknown"
    """No wake is known, but not everything could be seen."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a recording, with everything that readers need to act on it."""

    standing: Standing
    headline: str
    accelerator: str | None = None
    wake: Wake | None = None
    """The first wake that led to the outcome; None if nothing was woken or the waker was not seen."""
    wake_process: Process | None = None
    poisoned: tuple[Process, ...] = ()
    """Processes that were forked while the accelerator was awake, and have not executed another program."""
    escaped: tuple[Process, ...] = ()
    """Processes that were forked then but have executed another program, which clears the state."""
    notes: tuple[str, ...] = ()
    """Other events of importance, one sentence each."""
    doubts: tuple[str, ...] = ()
    """Why the recording may be incomplete, one sentence each."""
    next_command: str = ""
    next_reason: str = ""


def outcome(recording: Recording) -> Outcome:
    """Sum up a recording."""
    processes = recording.processes
    poison = _poison(processes)
    wakes = _wakes(processes)
    doubts = tuple(reasons(recording))
    if poison:
        return _poisoned(recording, poison, wakes, doubts)
    device_wakes = [pair for pair in wakes if pair[1].accelerator not in FORK_UNSAFE_RUNTIMES]
    if device_wakes:
        return _woken(recording, device_wakes, wakes, doubts)
    unseen = _awake_unseen(processes)
    if unseen is not None:
        return _woken_unseen(recording, unseen, wakes, doubts)
    return Outcome(
        Standing.UNKNOWN if doubts else Standing.COLD,
        _nothing_woken(recording, doubts),
        notes=(*forks.notes(processes), *_notes(wakes, None), *remarks(recording)),
        doubts=doubts,
        next_command="coldfork check",
        next_reason="looks for what wakes a device without running anything"
        if doubts
        else "looks at the code that this run did not reach, too",
    )


def _nothing_woken(recording: Recording, doubts: tuple[str, ...]) -> str:
    if not doubts:
        return "no accelerator was woken"
    if not has_begun(recording):
        return "the program was not run, so nothing is known about it"
    return "nothing was seen to wake an accelerator, but not everything was seen"


def by_import(waker: Waker | None) -> bool:
    """Return whether importing a module woke the device, and not the program's own code."""
    return waker is not None and waker.module not in (None, *phrases.PROGRAM)


def _poisoned(
    recording: Recording,
    poison: Sequence[tuple[Process, Stretch]],
    wakes: Sequence[tuple[Process, Wake]],
    doubts: tuple[str, ...],
) -> Outcome:
    processes = recording.processes
    accelerator = poison[0][1].accelerator
    poisoned = tuple(process for process, stretch in poison if stretch.accelerator == accelerator)
    escaped = tuple(
        process
        for process in processes
        if process.executed_at is not None and any(_is_poison(one, accelerator) for one in process.stretches)
    )
    origin = _origin(processes, poisoned[0], accelerator)
    wake = _wake_before(origin, accelerator, poisoned[0].begin)
    parent = f"process {phrases.pid(origin)}"
    them = "a process that was" if len(poisoned) == 1 else f"{len(poisoned)} processes"
    command, reason = _next(wake)
    return Outcome(
        Standing.POISONED,
        f"{accelerator} was awake in {parent}, and {them} forked from it cannot use it",
        accelerator,
        wake,
        origin,
        poisoned,
        escaped,
        (
            *forks.failures(poisoned, accelerator),
            *forks.notes(processes),
            *_notes(wakes, wake),
            *remarks(recording),
        ),
        doubts,
        command,
        reason,
    )


def _woken(
    recording: Recording,
    device_wakes: Sequence[tuple[Process, Wake]],
    wakes: Sequence[tuple[Process, Wake]],
    doubts: tuple[str, ...],
) -> Outcome:
    process, wake = device_wakes[0]
    waker = wake.waker
    if by_import(waker) and waker is not None:
        cause = f"while {waker.module or 'a module'} was imported"
    elif waker is not None and waker.path is not None:
        cause = f"by {phrases.place(waker.path, waker.line)}"
    else:
        cause = "and what woke it was not seen"
    command, reason = _next(wake)
    return Outcome(
        Standing.WOKEN,
        f"{phrases.waking(wake)} {cause}",
        wake.accelerator,
        wake,
        process,
        notes=(
            *forks.notes(recording.processes),
            *_safe_children(process, wake.at),
            *_notes(wakes, wake),
            *remarks(recording),
        ),
        doubts=doubts,
        next_command=command,
        next_reason=reason,
    )


def _woken_unseen(
    recording: Recording,
    unseen: tuple[Process, Stretch],
    wakes: Sequence[tuple[Process, Wake]],
    doubts: tuple[str, ...],
) -> Outcome:
    process, stretch = unseen
    command, reason = _next(None)
    return Outcome(
        Standing.WOKEN,
        f"{stretch.accelerator} was found awake in process {phrases.pid(process)}; what woke it was not seen",
        stretch.accelerator,
        None,
        process,
        notes=(
            *forks.notes(recording.processes),
            *_safe_children(process, stretch.begin),
            *_notes(wakes, None),
            *remarks(recording),
        ),
        doubts=doubts,
        next_command=command,
        next_reason=reason,
    )


def _is_poison(stretch: Stretch, accelerator: str | None = None) -> bool:
    return stretch.status is Status.POISONED and accelerator in (None, stretch.accelerator)


def _poison(processes: Sequence[Process]) -> list[tuple[Process, Stretch]]:
    """Return each process that a fork harmed, with its state; devices first, then by time."""
    judged = forks.judgements(processes)
    found = [
        (process, stretch)
        for process in processes
        for stretch in process.stretches
        if _is_poison(stretch)
        and process.executed_at is None
        and forks.is_harmed(process, stretch.accelerator, judged.get(process.number))
    ]
    return sorted(
        found, key=lambda pair: (pair[1].accelerator in FORK_UNSAFE_RUNTIMES, pair[0].begin, pair[0].number)
    )


def _origin(processes: Sequence[Process], process: Process, accelerator: str) -> Process:
    """Return the ancestor, above all poisoned processes, in which the accelerator was awake."""
    origin = process
    while origin.parent is not None:
        origin = processes[origin.parent]
        if not any(_is_poison(stretch, accelerator) for stretch in origin.stretches):
            break
    return origin


def _wake_before(process: Process, accelerator: str, moment: float) -> Wake | None:
    before = (wake for wake in process.wakes if wake.at <= moment)
    return next((wake for wake in before if wake.accelerator == accelerator), None)


def _wakes(processes: Iterable[Process]) -> list[tuple[Process, Wake]]:
    pairs = [(process, wake) for process in processes for wake in process.wakes]
    return sorted(pairs, key=lambda pair: pair[1].at)


def _awake_unseen(processes: Iterable[Process]) -> tuple[Process, Stretch] | None:
    """Return the first device that was found awake although its wake was not recorded."""
    found = [
        (process, stretch)
        for process in processes
        for stretch in process.stretches
        if stretch.status is Status.AWAKE and stretch.accelerator not in FORK_UNSAFE_RUNTIMES
    ]
    return min(found, key=lambda pair: pair[1].begin, default=None)


def _safe_children(process: Process, since: float) -> Iterator[str]:
    later = [going for going in process.departures if going.at >= since]
    if any(going.how is How.FORK for going in later):
        return
    fresh = sum(going.how is How.SPAWN for going in later)
    if fresh:
        yield f"{phrases.processes(fresh)} spawned after that began fresh; none was forked"
    else:
        yield "no process was forked after that; one that is forked later cannot use it"


def _notes(wakes: Iterable[tuple[Process, Wake]], reported: Wake | None) -> Iterator[str]:
    """Yield sentences on the other wakes, one for each place."""
    said = set() if reported is None else {_wake_key(reported)}
    for process, wake in wakes:
        if _wake_key(wake) in said:
            continue
        said.add(_wake_key(wake))
        waker = wake.waker
        where = phrases.NO_PLACE if waker is None else phrases.place(waker.path, waker.line)
        yield f"{phrases.waking(wake)} too, by {where} in process {phrases.pid(process)}"


def _wake_key(wake: Wake) -> tuple[object, ...]:
    waker = wake.waker
    return (wake.accelerator, wake.level, waker and waker.path, waker and waker.line)


def _next(wake: Wake | None) -> tuple[str, str]:
    waker = None if wake is None else wake.waker
    if waker is None or not by_import(waker):
        return "coldfork check", "finds every line that wakes a device without running anything"
    if waker.line is None and waker.module:
        module = shlex.quote(waker.module)
        return f"coldfork run --exact {module} ...", f"runs it again and names the line of {module}"
    return "coldfork rule device-init-at-import", "says why that is a problem and what to write instead"
