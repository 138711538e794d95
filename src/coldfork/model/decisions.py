"""Decisions on how to start a process: a start method, the reasons for it, and the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.forking.judgement import Judgement, worst
from coldfork.model.states import State, Waker

METHODS = ("fork", "spawn", "forkserver")
EVERY = "every"
"""Stands for a start method: the reason speaks against all of them."""


class Weight(StrEnum):
    """The weight of a reason."""

    CIRCUMSTANCE = "circumstance"
    """Nothing breaks at once, but another method is wiser here."""
    DOUBT = "doubt"
    """It is unknown whether it breaks; the reason says why."""
    HARM = "harm"
    """A process started this way hangs, dies, or cannot use what it inherits."""

    @property
    def rank(self) -> int:
        """The position in the order; a larger rank weighs more."""
        return _RANKS[self.value]


_RANKS = {"circumstance": 1, "doubt": 2, "harm": 3}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks against a start method."""

    code: str
    """The name of the reason, the same in all versions: `openmp-pool-of-this-thread`."""
    text: str
    """A clause to follow "because"."""
    against: str = "fork"
    """The start method, or `every`."""
    weight: Weight = Weight.HARM
    accelerator: str | None = None
    """The runtime that the reason is about, if it is about one."""
    waker: Waker | None = None
    """The code that woke that runtime, if this was observed."""
    remedies: tuple[str, ...] = ()
    """The remedies, one sentence each, the best first."""
    evidence: tuple[tuple[str, str], ...] = ()
    """The observations, as pairs of name and value."""
    judgement: Judgement | None = None
    """The effect on the child if a fork is made nevertheless; None if the reason concerns something else."""
    condition: str | None = None
    """The condition under which the child breaks: `it fails if the child touches cuda`."""
    watched: bool = False
    """Whether the child notices the moment when the condition comes true."""

    @property
    def vetoes(self) -> bool:
        """Return whether this reason rules out a fork, because the child would inherit something unusable."""
        return self.against == "fork" and self.weight is Weight.HARM


@dataclass(frozen=True, slots=True)
class Decision:
    """A start method, with the reasons that speak against the others."""

    method: str
    """`fork`, `spawn` or `forkserver`."""
    reasons: tuple[Reason, ...] = ()
    """All reasons against any method, including the chosen one; the heaviest first."""
    evidence: tuple[State, ...] = ()
    """The state of every accelerator and fork-unsafe runtime at that moment."""
    target: str | None = None
    """The module for which the decision was requested."""

    def against(self, method: str) -> tuple[Reason, ...]:
        """Return the reasons that speak against a method."""
        return tuple(reason for reason in self.reasons if reason.against in (method, EVERY))

    @property
    def judgement(self) -> Judgement:
        """Return the effect that a fork of this process would now have on the child."""
        return fork_judgement(self.reasons)

    @property
    def because(self) -> str:
        """Return the reasons in one clause: those against fork, or those against the chosen method."""
        spoken = self.against("fork" if self.method != "fork" else self.method)
        if not spoken:
            return "nothing speaks against it" if self.method == "fork" else "there is no fork here"
        clause = _joined(spoken)
        if self.method == "fork":
            return f"the other methods cannot work, although {clause}"
        stuck = [one for one in self.against(self.method) if one.weight is Weight.HARM and one not in spoken]
        return f"{clause}; but {_joined(stuck)}" if stuck else clause

    def line(self) -> str:
        """Return the decision as one line, for the log."""
        for_whom = f" for {self.target}" if self.target else ""
        return f"{self.method}{for_whom}, because {self.because}"

    def __str__(self) -> str:
        return self.line()


def fork_judgement(reasons: Iterable[Reason]) -> Judgement:
    """Return the worst effect of a fork on its child among these reasons."""
    return worst(reason.judgement for reason in reasons if reason.judgement is not None)


def _joined(reasons: Iterable[Reason]) -> str:
    return "; ".join(dict.fromkeys(reason.text for reason in reasons))


@dataclass(frozen=True, slots=True)
class CanaryAnswer:
    """The result of forking a child as a trial; its truth value is True if nothing broke."""

    safe: bool
    reason: str
    tried: tuple[str, ...] = ()
    """The child's actions, in order; if one of them broke it, that is the last."""
    seconds: float = 0.0
    against: tuple[Reason, ...] = ()
    """The table's reasons against forking this child, whatever the trial's result."""

    def __bool__(self) -> bool:
        return self.safe

    def __str__(self) -> str:
        return f"{'safe' if self.safe else 'not safe'} to fork here: {self.reason}"
