"""The policy that chooses a start method by the reasons against each; a pure function.

1. Fork, if nothing speaks against it.
2. Fork too, if no other method can start the target at all, and the reasons against a fork are only
circumstances, or things whose use the child notices and fails at once.
3. Else forkserver, if nothing speaks against it: a clean server is possible, and saves time.
4. Else spawn, whatever speaks against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import EVERY, Decision, Reason, Weight
from coldfork.model.forking.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldfork.model.states import State


def decided(reasons: Iterable[Reason], states: tuple[State, ...] = (), target: str | None = None) -> Decision:
    """Return the decision that follows from these reasons."""
    known = tuple(reasons)
    return Decision(_method(known), known, states, target)


def _method(reasons: tuple[Reason, ...]) -> str:
    fork, forkserver, spawn = (_worst(reasons, method) for method in ("fork", "forkserver", "spawn"))
    impossible = Weight.HARM.rank
    if not fork:
        return "fork"
    if spawn == forkserver == impossible and all(map(_is_bearable, reasons)):
        return "fork"
    return "spawn" if forkserver else "forkserver"


def _is_bearable(reason: Reason) -> bool:
    """Return whether a fork despite this reason is better than a start method that cannot work."""
    if reason.against != "fork" or reason.weight is Weight.CIRCUMSTANCE:
        return True
    return reason.judgement is Judgement.BREAKS_IF and reason.watched


def _worst(reasons: tuple[Reason, ...], method: str) -> int:
    """Return the weight of the heaviest reason against a method; 0 if there is none.

    Reasons against all methods do not count, because they do not help to choose.
    """
    ranks = [one.weight.rank for one in reasons if one.against == method and one.against != EVERY]
    return max(ranks, default=0)
