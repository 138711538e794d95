"""How a process may be started: a start method, the reasons for it, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.forking.judgement import Judgement, worst
from coldfork.model.states import State, Waker

METHODS = ("fork", "spawn", "forkserver")
EVERY = "every"
"""What a reason speaks against that holds for any start method."""


class Weight(StrEnum):
    """How much a reason weighs."""

    CIRCUMSTANCE = "circumstance"
    """Nothing breaks at once, but here another method is the wiser choice."""
    DOUBT = "doubt"
    """It could not be found out whether it breaks; the reason says why not."""
    HARM = "harm"
    """A process started so hangs, dies, or cannot use what it was handed."""

    @property
    def rank(self) -> int:
        """Its place among the others; more weighs more."""
        return _RANKS[self.value]


_RANKS = {"circumstance": 1, "doubt": 2, "harm": 3}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks against a start method."""

    code: str
    """Its name, which stays the same: `openmp-pool-of-this-thread`."""
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
    """What to do about it, each a sentence; the best first."""
    evidence: tuple[tuple[str, str], ...] = ()
    """What was seen, as names and values."""
    judgement: Judgement | None = None
    """What a fork in spite of it does to its child; None where it is about something else."""
    condition: str | None = None
    """What breaks the child: `it fails if the child touches cuda`."""
    watched: bool = False
    """Whether the moment at which the child does that is seen in the child."""

    @property
    def vetoes(self) -> bool:
        """Whether a fork in spite of it would hand a child something that it cannot use."""
        return self.against == "fork" and self.weight is Weight.HARM


@dataclass(frozen=True, slots=True)
class Decision:
    """A start method with the reasons that speak against the others."""

    method: str
    """`fork`, `spawn` or `forkserver`."""
    reasons: tuple[Reason, ...] = ()
    """Everything that speaks against a method, the chosen one included; what weighs most first."""
    evidence: tuple[State, ...] = ()
    """The state of every accelerator and fork-unsafe runtime at that moment."""
    target: str | None = None
    """The module that the decision was asked for."""

    def against(self, method: str) -> tuple[Reason, ...]:
        """The reasons that speak against a method."""
        return tuple(reason for reason in self.reasons if reason.against in (method, EVERY))

    @property
    def judgement(self) -> Judgement:
        """What a fork would do to its child here and now."""
        return fork_judgement(self.reasons)

    @property
    def because(self) -> str:
        """The reasons in one clause: why not fork, or what speaks against the method in spite of all."""
        spoken = self.against("fork" if self.method != "fork" else self.method)
        if not spoken:
            return "nothing speaks against it" if self.method == "fork" else "there is no fork here"
        clause = _joined(spoken)
        if self.method == "fork":
            return f"the other methods cannot work, although {clause}"
        stuck = [one for one in self.against(self.method) if one.weight is Weight.HARM and one not in spoken]
        return f"{clause}; but {_joined(stuck)}" if stuck else clause

    def line(self) -> str:
        """The decision in one line, as it is logged."""
        for_whom = f" for {self.target}" if self.target else ""
        return f"{self.method}{for_whom}, because {self.because}"

    def __str__(self) -> str:
        return self.line()


def fork_judgement(reasons: Iterable[Reason]) -> Judgement:
    """What a fork does to its child for all of these reasons together."""
    return worst(reason.judgement for reason in reasons if reason.judgement is not None)


def _joined(reasons: Iterable[Reason]) -> str:
    return "; ".join(dict.fromkeys(reason.text for reason in reasons))


@dataclass(frozen=True, slots=True)
class CanaryAnswer:
    """What became of a child that was forked to try it; true if nothing broke."""

    safe: bool
    reason: str
    tried: tuple[str, ...] = ()
    """What the child did, in order; the last is what broke, if anything did."""
    seconds: float = 0.0
    against: tuple[Reason, ...] = ()
    """What the table of forks says of the child that tried, whatever became of it."""

    def __bool__(self) -> bool:
        return self.safe

    def __str__(self) -> str:
        return f"{'safe' if self.safe else 'not safe'} to fork here: {self.reason}"
