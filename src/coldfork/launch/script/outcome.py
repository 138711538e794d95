"""How a script ended, in a word and in a sentence."""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Outcome(StrEnum):
    """How a script ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """With a status that is not 0."""
    KILLED = "killed"
    """By a signal that was not ours."""
    TIMED_OUT = "timed-out"
    OVER_MEMORY = "over-memory"
    """It held more than `max_memory`, and was killed."""
    OVER_CPU = "over-cpu"
    """It used more processor time than `max_cpu`, and was ended."""
    CANCELLED = "cancelled"
    """The task or the call that waited for it was cancelled."""
    CALLER_DIED = "caller-died"
    LOST = "lost"
    """Its supervisor was killed; how the script itself ended nobody knows."""


_HOW = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.FAILED: "ended with status {status}",
    Outcome.KILLED: "was killed by {signal}",
    Outcome.TIMED_OUT: "took longer than it was given, and was ended",
    Outcome.OVER_MEMORY: "was killed at {memory} of memory",
    Outcome.OVER_CPU: "was ended after {cpu} of processor time",
    Outcome.CANCELLED: "was cancelled, and ended",
    Outcome.CALLER_DIED: "was ended, because who started it died",
    Outcome.LOST: "was lost: its supervisor was killed, and how the script itself ended nobody knows",
}


def explained(
    outcome: Outcome, status: int | None, signal: str | None, caps: Mapping[str, Any] | None
) -> str:
    """One sentence on how a script ended."""
    return f"the script {how(outcome, status, signal, caps)}"


def how(outcome: Outcome, status: int | None, signal: str | None, caps: Mapping[str, Any] | None) -> str:
    """The end of a script as a predicate, without its subject."""
    known = {} if caps is None else caps
    memory, cpu = _of_memory(known.get("memory")), _of_cpu(known.get("cpu"))
    return _HOW[outcome].format(status=status, signal=signal, memory=memory, cpu=cpu)


def _of_memory(cap: Mapping[str, Any] | None) -> str:
    from coldfork.launch.supervisor.limits import spoken, spoken_cap

    return "" if cap is None else f"{spoken(cap['reached'] or 0)} of {spoken_cap(cap['most'])}"


def _of_cpu(cap: Mapping[str, Any] | None) -> str:
    return "" if cap is None else f"{cap['reached'] or 0:.1f} s of {cap['most']:g} s"
