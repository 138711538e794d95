"""The written policy: from what speaks against each start method to the one to use. Pure.

1. Fork, if nothing speaks against it.
2. Fork too, if only circumstances speak against it and no other method can start the target at all.
3. Else forkserver, if nothing speaks against it: a clean server can be had, and it pays.
4. Else spawn, whatever speaks against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import EVERY, Decision, Reason, Weight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldfork.model.states import State


def decided(reasons: Iterable[Reason], states: tuple[State, ...] = (), target: str | None = None) -> Decision:
    """The decision that these reasons make."""
    known = tuple(reasons)
    return Decision(_method(known), known, states, target)


def _method(reasons: tuple[Reason, ...]) -> str:
    fork, forkserver, spawn = (_worst(reasons, method) for method in ("fork", "forkserver", "spawn"))
    impossible = Weight.HARM.rank
    if not fork:
        return "fork"
    if fork == Weight.CIRCUMSTANCE.rank and spawn == forkserver == impossible:
        return "fork"
    return "spawn" if forkserver else "forkserver"


def _worst(reasons: tuple[Reason, ...], method: str) -> int:
    """How much the heaviest reason against a method weighs; 0 if there is none.

    What speaks against every method does not help to choose between them.
    """
    ranks = [one.weight.rank for one in reasons if one.against == method and one.against != EVERY]
    return max(ranks, default=0)
