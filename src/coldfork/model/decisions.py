"""Decisions on how to start a process: a start method, the reasons for it, and their evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.forking.judgement import Judgement, worst
from coldfork.model.states import State, Waker

METHODS = ("fork", "spawn", "forkserver")
EVERY = "every"
"""In place of a start method: the reason speaks against all of them."""


class Weight(StrEnum):
    """How much a reason weighs."""

    CIRCUMSTANCE = "circumstance"
    """Nothing breaks at once, but another method is the wiser choice here."""
    DOUBT = "doubt"
    """It could not be found out whether it breaks; the reason says why not."""
    HARM = "harm"
    """A process started this way hangs, dies, or cannot use what it was handed."""

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank weighs more."""
        return _RANKS[self.value]


_RANKS = {"circumstance": 1, "doubt": 2, "harm": 3}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks against a start method."""

    code: str
    """Its name, which does not change between versions: `openmp-pool-of-this-thread`."""
    text: str
    """A clause that goes after "because"."""
    against: str = "fork"
    """The start method, or `every`."""
    weight: Weight = Weight.HARM
    accelerator: str | None = None
    """The runtime it is about, if it is about one."""
    waker: Waker | None = None
    """Who woke that runtime, if it was observed."""
    remedies: tuple[str, ...] = ()
    """Remedies, each a sentence; the best first."""
    evidence: tuple[tuple[str, str], ...] = ()
    """Observations, as names and values."""
    judgement: Judgement | None = None
    """The effect of a fork on its child all the same; None where it concerns something else."""
    condition: str | None = None
    """The condition that breaks the child: `it fails if the child touches cuda`."""
    watched: bool = False
    """Whether the child notices the moment at which it does that."""

    @property
    def vetoes(self) -> bool:
        """Return whether this reason rules out a fork, because the child would inherit what it cannot use."""
        return self.against == "fork" and self.weight is Weight.HARM


@dataclass(frozen=True, slots=True)
class Decision:
    """A start method with the reasons that speak against the others."""

    method: str
    """`fork`, `spawn` or `forkserver`."""
    reasons: tuple[Reason, ...] = ()
    """Everything that speaks against a method, the chosen one included; the heaviest first."""
    evidence: tuple[State, ...] = ()
    """The state of every accelerator and fork-unsafe runtime at that moment."""
    target: str | None = None
    """The module that the decision was asked for."""

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
        """Return the decision in one line, for the log."""
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
    """The child's actions, in order; the last is the one that broke, if any did."""
    seconds: float = 0.0
    against: tuple[Reason, ...] = ()
    """The table's reasons against forking the child that tried, whatever its result."""

    def __bool__(self) -> bool:
        return self.safe

    def __str__(self) -> str:
        return f"{'safe' if self.safe else 'not safe'} to fork here: {self.reason}"
