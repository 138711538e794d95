"""The states of a process over time, from its own reports and from the process that forked it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldfork.model.states import Level, State, Status
from coldfork.model.timelines import Process, Stretch

_ASLEEP = (Status.ABSENT, Status.COLD)


@dataclass(frozen=True, slots=True)
class _Known:
    """The known state of one accelerator at one moment."""

    at: float
    accelerator: str
    status: Status
    level: Level | None
    reason: str | None
    inferred: bool = False
    seen_waking: bool = False


def stretches(
    process: Process,
    moments: Iterable[tuple[float, tuple[State, ...]]],
    forked_from: Process | None,
    fork_states: Sequence[State],
) -> tuple[Stretch, ...]:
    """Return the states of a process over time, reported by itself or inherited from its parent by a fork."""
    known = [
        _Known(at, state.accelerator, state.status, state.level, state.reason)
        for at, states in moments
        for state in states
    ]
    known += [
        _Known(wake.at, wake.accelerator, Status.AWAKE, wake.level, None, seen_waking=True)
        for wake in process.wakes
    ]
    told_at_birth = {item.accelerator for item in known if item.at <= process.begin}
    if forked_from is not None:
        inherited = _inherited(process.begin, forked_from, fork_states)
        known += [item for item in inherited if item.accelerator not in told_at_birth]
    # A wake comes before a state that was reported at the same moment, because it explains the state.
    known.sort(key=lambda item: (item.at, not item.seen_waking))
    accelerators = dict.fromkeys(item.accelerator for item in known)
    return tuple(
        stretch
        for name in accelerators
        for stretch in _of_one([item for item in known if item.accelerator == name], process.end)
    )


def state_at(process: Process, accelerator: str, moment: float) -> Stretch | None:
    """Return the state of an accelerator at a moment; None if nothing is known."""
    begun = (one for one in reversed(process.stretches) if one.begin <= moment)
    return next((one for one in begun if one.accelerator == accelerator), None)


def _inherited(begin: float, parent: Process, states: Sequence[State]) -> Iterable[_Known]:
    """Yield the child's states after a fork: poisoned if awake in the parent, unknown if unknown there."""
    at_fork = {state.accelerator: state.status for state in states}
    for stretch in parent.stretches:
        if stretch.accelerator not in at_fork:
            last = state_at(parent, stretch.accelerator, begin)
            if last is not None:
                at_fork[stretch.accelerator] = last.status
    origin = f"forked from process {parent.pid}"
    for name, status in at_fork.items():
        if status in (Status.AWAKE, Status.POISONED):
            reason = f"{origin}, where it was {status.value}"
            yield _Known(begin, name, Status.POISONED, None, reason, inferred=True)
        elif status is Status.UNKNOWN:
            reason = f"{origin}, where its state was unknown"
            yield _Known(begin, name, Status.UNKNOWN, None, reason, inferred=True)


def _of_one(known: list[_Known], end: float) -> list[Stretch]:
    """Return one accelerator's states; if a wake was not seen, the time since the last report is unknown."""
    made: list[Stretch] = []
    current, since, confirmed = known[0], known[0].at, known[0].at
    for item in known[1:]:
        if (item.status, item.level) == (current.status, current.level):
            confirmed = item.at
            continue
        until = item.at
        if item.status is Status.AWAKE and current.status in _ASLEEP and not item.seen_waking:
            until = confirmed
        made.append(_stretch(current, since, until))
        if until < item.at:
            reason = f"it was {current.status.value} before and awake after, and what woke it was not seen"
            made.append(Stretch(item.accelerator, until, item.at, Status.UNKNOWN, None, reason))
        current, since, confirmed = item, item.at, item.at
    made.append(_stretch(current, since, max(end, since)))
    # A state that lasted no time because it was corrected at once is omitted.
    return [one for one in made if one.end > one.begin or one is made[-1]]


def _stretch(known: _Known, begin: float, end: float) -> Stretch:
    return Stretch(known.accelerator, begin, end, known.status, known.level, known.reason, known.inferred)
