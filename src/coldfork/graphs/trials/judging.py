"""Judge whether a replay returns, and leaves in memory, the same values as a fresh run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from coldfork.graphs.findings import NotCompared
from coldfork.graphs.trials.beginning import Question, View
from coldfork.graphs.trials.copies import Answer
from coldfork.graphs.trials.eager_runs import EagerRun, patterns_in
from coldfork.graphs.trials.kept_writes import described, named
from coldfork.graphs.trials.large_memory import side_by_side
from coldfork.graphs.trials.replays import Earlier, Replay, Trial, name_of
from coldfork.graphs.trials.results import disagreements, without
from coldfork.graphs.trials.traces import Step

_OTHER_FILLING = 1000.0

RunFresh = Callable[[Question], Answer]
TryOut = Callable[[Trial], Answer]
"""Replays a batch on the inputs of a fresh run, in a copy."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of comparing replays of a batch with fresh runs: one of each, or all."""

    differs: bool | None
    """None if they could not be compared."""
    gaps: tuple[NotCompared, ...] = ()
    """Everything that could not be compared, and why."""
    undefined: bool = False
    """Whether results depend on memory that was never written, even those of eager runs."""
    fresh: tuple[Step, ...] = ()
    """The operators of a fresh run, if a replay differs from it."""
    replayed: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """A process to replay a batch in, and batches to replay before it."""

    try_out: TryOut
    after: tuple[Earlier, ...] = ()
    """The batches to replay before it."""
    compiled: bool = True
    """Whether the program's compiled functions ran compiled during the capture."""


class Judge:
    """Judges the replays of one batch."""

    def __init__(
        self,
        descriptor: str,
        parts: Iterable[View],
        declared: frozenset[int],
        read: frozenset[int],
        run_fresh: RunFresh,
    ) -> None:
        self._descriptor = descriptor
        self._parts = list(parts)
        """The parts of older memory to which the graph writes."""
        self._declared = declared
        """Memory that is declared as kept up to date by the program, or as filled for each batch."""
        self._read = read
        """The memory that the graph reads."""
        self._run_fresh = run_fresh

    def judge(self, trial: Trial, try_out: TryOut) -> Judgement:
        """Compare a replay with a fresh run; if they differ, try again after restoring memory that the graph
        writes.
        """
        fresh, question = trial.fresh, trial.question
        undefined: Mapping[str, Any] | None = None
        for restored in (False, True):
            answer = try_out(replace(trial, restored=restored))
            if answer.trouble:
                return Judgement(None, (self.failed(answer, _MORE_TIME),))
            if answer.error:
                return self._explained(trial, try_out)
            replayed: Replay = answer.value
            parts = [one for one in self._parts if one.key in fresh.left and one.key in replayed.left]
            theirs, mine, gaps = self._both(question, fresh, replayed, parts)
            if not theirs and not gaps:
                return Judgement(None, (self.gap("results", _NOTHING, _NAME_IT),))
            found = _unexcused(disagreements(theirs, mine), replayed.matched.excused)
            if found and undefined is None:
                undefined = self._undefined(question, theirs, parts)
            left = without(found, undefined or {})
            if not left:
                return Judgement(False if theirs else None, gaps, bool(found))
        unknown = left.keys() & replayed.matched.accumulating
        if left.keys() == unknown:
            more = (self.gap(described(name, fresh.kept), _GOES_ON, _MAKE_BEFORE) for name in sorted(unknown))
            return Judgement(False, (*gaps, *more))
        return self._explained(trial, try_out)

    def gap(self, what: str, why: str, remedy: str) -> NotCompared:
        """Return a note about something that was not compared."""
        return NotCompared(self._descriptor, what, why, remedy)

    def failed(self, answer: Answer, remedy: str) -> NotCompared:
        """Return a note that no results of a batch were compared, because a run did not finish."""
        return self.gap("results", answer.trouble or answer.error, _MORE_TIME if answer.trouble else remedy)

    def _both(
        self, question: Question, fresh: EagerRun, replayed: Replay, parts: list[View]
    ) -> tuple[dict[str, Any], dict[str, Any], tuple[NotCompared, ...]]:
        """Return the values of both runs by name, and notes about values that cannot be compared."""
        theirs, mine = _everything(fresh, parts), _everything(replayed, parts)
        every = named(fresh.kept)
        theirs.update({name: every[name] for name in replayed.matched.values})
        mine.update(replayed.matched.values)
        gaps = [self.gap(what, _NO_COUNTERPART, _MAKE_BEFORE) for what in replayed.matched.alone]
        gaps += [
            self.gap("results", f"a result of kind {one} cannot be read", _PLAIN) for one in fresh.unread
        ]
        for key, pattern in patterns_in(question.inputs, fresh.given).items():
            if key in fresh.pages and key in replayed.pages:
                both = side_by_side(pattern, fresh.pages[key], replayed.pages[key])
                theirs[name_of(key)], mine[name_of(key)] = both
        of_graph = {part.key for part in self._parts}
        for key, values in fresh.wrote.items():
            if key in of_graph or key in self._read or key not in replayed.left:
                continue
            left = replayed.left[key]
            if key in self._declared or not theirs:
                theirs[name_of(key)], mine[name_of(key)] = values, left
            elif disagreements({"": values}, {"": left}):
                gaps.append(self.gap("memory that only an eager run writes", _LEFT_OUT, _NAME_IT))
        return theirs, mine, tuple(dict.fromkeys(gaps))

    def _undefined(self, question: Question, theirs: Mapping[str, Any], parts: list[View]) -> dict[str, Any]:
        """Return masks of the values that come from memory that a fresh run never wrote; these may differ."""
        other = self._run_fresh(replace(question, filling=_OTHER_FILLING))
        again = self._run_fresh(question)
        if not other.given or not again.given:
            return {}
        runs = [{**_everything(one.value, parts), **named(one.value.kept)} for one in (other, again)]
        other_found, again_found = (
            disagreements(theirs, {name: one for name, one in run.items() if name in theirs}) for run in runs
        )
        return without(other_found, again_found)

    def _explained(self, trial: Trial, try_out: TryOut) -> Judgement:
        traced = replace(trial.question, traced=True)
        eager = self._run_fresh(traced)
        replayed = try_out(replace(trial, question=traced))
        steps = [tuple(one.value.steps) if one.given else () for one in (eager, replayed)]
        return Judgement(True, fresh=steps[0], replayed=steps[1])


_MORE_TIME = "make the forward function work without threads, which a copy of the process does not have"
_NOTHING = "the forward function returned nothing, and its graph leaves nothing in memory"
_NAME_IT = "return what it computes, or name the memory that it writes in persistent="
_NO_COUNTERPART = "what an eager run writes in its place was not found, or is too large"
_MAKE_BEFORE = "allocate that memory before the check begins, or let the forward function reach its holder"
_GOES_ON = "it is updated from its own contents, and was allocated after the check began"
_LEFT_OUT = "it may be left out of the graph, or be done once for all batches"
_PLAIN = "return plain tensors"


def _unexcused(found: Mapping[str, Any], excused: set[str]) -> dict[str, Any]:
    return {
        name: mask
        for name, mask in found.items()
        if name not in excused and name.partition(".")[0] not in excused
    }


def _everything(run: EagerRun | Replay, parts: Iterable[View]) -> dict[str, Any]:
    """Return a run's results, and its values in those parts of older memory that the graph writes."""
    found = {f"result{name}": tensor for name, tensor in run.results.items()}
    for number, part in enumerate(parts):
        left = run.left.get(part.key)
        if left is not None:
            found[f"{name_of(part.key)}.{number}"] = part.on(left.untyped_storage()).clone()
    return found
