"""The ways in which a script can end, each as a word and as a sentence."""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Outcome(StrEnum):
    """The ways in which a script can end."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """It ended with a status other than 0."""
    KILLED = "killed"
    """A signal that coldfork did not send ended it."""
    TIMED_OUT = "timed-out"
    OVER_MEMORY = "over-memory"
    """It exceeded `max_memory` and was killed."""
    OVER_CPU = "over-cpu"
    """It used more processor time than `max_cpu` and was ended."""
    CANCELLED = "cancelled"
    """The task or call that waited for it was cancelled."""
    CALLER_DIED = "caller-died"
    LOST = "lost"
    """Its supervisor was killed, so it is unknown how the script itself ended."""


_HOW = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.FAILED: "ended with status {status}",
    Outcome.KILLED: "was killed by {signal}",
    Outcome.TIMED_OUT: "exceeded its timeout, and was ended",
    Outcome.OVER_MEMORY: "was killed at {memory} of memory",
    Outcome.OVER_CPU: "was ended after {cpu} of processor time",
    Outcome.CANCELLED: "was cancelled, and ended",
    Outcome.CALLER_DIED: "was ended because its caller died",
    Outcome.LOST: "was lost: its supervisor was killed, so it is not known how the script ended",
}


def explained(
    outcome: Outcome, status: int | None, signal: str | None, caps: Mapping[str, Any] | None
) -> str:
    """Return one sentence on how a script ended."""
    return f"the script {how(outcome, status, signal, caps)}"


def how(outcome: Outcome, status: int | None, signal: str | None, caps: Mapping[str, Any] | None) -> str:
    """Return how a script ended, as a phrase without a subject."""
    known = {} if caps is None else caps
    memory, cpu = _of_memory(known.get("memory")), _of_cpu(known.get("cpu"))
    return _HOW[outcome].format(status=status, signal=signal, memory=memory, cpu=cpu)


def _of_memory(cap: Mapping[str, Any] | None) -> str:
    from coldfork.launch.supervisor.limits import spoken, spoken_cap

    return "" if cap is None else f"{spoken(cap['reached'] or 0)} of {spoken_cap(cap['most'])}"


def _of_cpu(cap: Mapping[str, Any] | None) -> str:
    return "" if cap is None else f"{cap['reached'] or 0:.1f} s of {cap['most']:g} s"
