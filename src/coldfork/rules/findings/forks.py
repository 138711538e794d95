"""Judges forks found in the source, and decides which start method would be better."""

from __future__ import annotations

from coldfork.model.decisions import Decision, Reason, Weight
from coldfork.model.effects import Obstacle, ProcessStart
from coldfork.model.forking.judgement import Deed, Purpose, Verdict, held, judge
from coldfork.start.policy import decided

_PURPOSES = {"Process": Purpose.PROCESS, "DataLoader": Purpose.DATALOADER}


def judged(start: ProcessStart, accelerator: str, end: str) -> Verdict:
    """Return the verdict on a fork whose child is known to use the device; `end` is the forking call."""
    purpose = _PURPOSES.get(end.partition(".")[0], Purpose.POOL)
    deed = None if start.child is None else _deed(start, purpose)
    return judge(held(accelerator), purpose, {} if deed is None else {accelerator: deed})


def decision(start: ProcessStart, accelerator: str, verdict: Verdict) -> Decision:
    """Return the decision that `coldfork.decide` would make at the place where this process is started."""
    reasons = [
        Reason(
            f"{accelerator}-awake",
            f"{accelerator} is awake here",
            accelerator=accelerator,
            judgement=verdict.judgement,
            condition=verdict.condition,
            watched=verdict.watched,
        ),
        Reason(
            "forkserver-preloads-nothing",
            "its server would preload nothing, so it saves nothing over spawn",
            "forkserver",
            Weight.CIRCUMSTANCE,
        ),
    ]
    words = unsendable(start)
    if words:
        text = f"{words} cannot be pickled"
        reasons += [Reason("target-cannot-be-pickled", text, method) for method in ("spawn", "forkserver")]
    return decided(reasons)


def unsendable(start: ProcessStart) -> str:
    """Return what cannot be pickled for a fresh process, in words; empty if everything can, as far
    as known.
    """
    met = start.hindrance
    return met.words if met is not None and met.obstacle is Obstacle.UNPICKLABLE else ""


def _deed(start: ProcessStart, purpose: Purpose) -> Deed | None:
    if start.child is None:
        return None
    *steps, sink = start.child.chain.steps
    who = {Purpose.DATALOADER: "its worker", Purpose.POOL: "its task"}.get(purpose, "its function")
    return Deed(who, sink.symbol, tuple((one.path or "", one.line or 0, one.symbol) for one in steps[1:]))
