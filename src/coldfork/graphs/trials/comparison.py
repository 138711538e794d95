"""Whether a replay computes what a fresh eager run computes, on inputs that the warm-up never saw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

from coldfork.graphs.batches import Make, Manner
from coldfork.graphs.descriptors import BatchDescriptor
from coldfork.graphs.engines import Engine
from coldfork.graphs.trials.beginning import Beginning, Question, View, view_of
from coldfork.graphs.trials.copies import Answer, Standby, ask
from coldfork.graphs.trials.eager_runs import EagerRun, EagerRunner
from coldfork.graphs.trials.host_reads import on_both_sides
from coldfork.graphs.trials.replays import Mirror, Replay, Replayer, written_keys, written_parts
from coldfork.graphs.trials.results import disagreements, without
from coldfork.graphs.trials.traces import Step
from coldfork.graphs.trials.variation import BOLD, settled, taken, varies, wildly, with_contrary_flags
from coldfork.virtual.capturing.compiled.calls import times_compiled

_WARM_UP = 5
_SEEDS = (11, 23, 37)
"""Of the numbers that each trial is given."""
_OTHER_FILLING = 1000.0
_SHORTEST_LIMIT = 60.0
_LIMIT_OF_RUNS = 50.0
"""A fresh run may take so many times as long as its capture did."""
_LIMIT_FAR_AWAY = 20.0
"""So long one may take on values that the program may never meet."""
_LET_GO = (
    "not compared: memory that the graph writes, and that the program exchanges for other memory when it "
    "runs on other values"
)

Trial = Callable[[Question, EagerRun, bool], Answer]
"""Replays a batch on the inputs of a fresh run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the comparison of one batch says."""

    differs: bool | None
    """None where nothing could be compared."""
    unsure: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    undefined: bool = False
    """True when results depend on memory that was only allocated, eager runs' results too."""
    fresh: tuple[Step, ...] = ()
    """The operators of a fresh run, where a replay differs from it."""
    replayed: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a batch while it was captured."""

    inputs: frozenset[int]
    """Memory of before that was read, and that holds another batch's values each time."""
    rebuilt: frozenset[int]
    """Memory that building the captured state filled."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Whether a replay's results are others than a fresh run's."""

    real: bool = False
    undefined: bool = False
    """Only where a fresh run's own depend on memory that nothing wrote."""
    let_go: bool = False
    """True when some of the memory that the graph writes is gone after a run."""


class Comparison:
    """Compares the batches of one manager with fresh runs, as all was when it began."""

    def __init__(
        self,
        make: Make,
        descriptors: Iterable[BatchDescriptor],
        persistent: Iterable[Any],
        inputs: Iterable[Any] | None,
        engine: Engine,
        manner: Manner,
    ) -> None:
        self._descriptors = tuple(descriptors)
        self._make = make
        self._beginning = Beginning()
        self._persistent = tuple(dict.fromkeys(view_of(one) for one in persistent))
        self._inputs = None if inputs is None else tuple(dict.fromkeys(view_of(one) for one in inputs))
        runner = EagerRunner(make, self._descriptors, self._beginning, manner)
        self._fresh = Standby(runner.run, runner.prepare)
        self._mirror = Standby(Mirror(make, self._descriptors, self._beginning, engine, manner).answer)
        self._captured: list[Any] = []
        self._began = time.monotonic()

    def close(self) -> None:
        """Let go of the process that was kept."""
        self._fresh.close()
        self._mirror.close()

    def outcome(self, batch: Any, seen: Seen) -> Outcome:
        """Try a batch that was just captured."""
        limit = max(_SHORTEST_LIMIT, _LIMIT_OF_RUNS * (time.monotonic() - self._began))
        replayer = Replayer(batch, self._captured, self._beginning, self._make)
        self._captured.append(batch)
        question = self._settled(self._question(batch, seen), limit)
        trials = [_in_a_copy(replayer, limit)]
        # The same again with a warm-up that saw other values: one on zeros leaves nothing that would show.
        # Not where it would compile everything once more.
        if not times_compiled() and self._mirror.ask(question, limit, lasting=True).given:
            trials.append(partial(self._in_the_mirror, limit))
        outcome = self._try(written_parts(batch), question, trials, limit)
        self._began = time.monotonic()
        return outcome

    def _in_the_mirror(self, limit: float, question: Question, fresh: EagerRun, restored: bool) -> Answer:
        return self._mirror.ask((question, fresh, restored), limit)

    def _question(self, batch: Any, seen: Seen) -> Question:
        kept = seen.rebuilt | {view.key for view in self._persistent}
        return Question(
            self._descriptors.index(batch.descriptor),
            # What the program keeps up to date holds other values for each batch too.
            inputs := tuple(dict.fromkeys((*self._inputs_of(seen), *self._persistent))),
            (BOLD,) * len(inputs),
            _WARM_UP,
            frozenset(key for key in kept if self._beginning.holds(key)),
            frozenset(key for key in written_keys(batch) if self._beginning.holds(key)),
        )

    def _inputs_of(self, seen: Seen) -> Iterator[View]:
        if self._inputs is not None:
            yield from self._inputs
            return
        for key in sorted(seen.inputs):
            tensor = self._beginning.largest(key)
            if tensor is not None:
                yield view_of(tensor)

    # --- one run beside the other -------------------------------------------------------------------------

    def _try(self, parts: list[View], question: Question, trials: list[Trial], limit: float) -> Outcome:
        notes: tuple[str, ...] = ()
        varied = undefined = False
        asking = [question, wildly(question)]
        if (contrary := with_contrary_flags(question)) != question:
            asking.append(contrary)
        for seed, asked, trial in zip(_SEEDS, asking, cycle(trials), strict=False):
            question, answer = self._run_fresh(replace(asked, seed=seed), limit)
            if not answer.given:
                return Outcome(None, (_not_compared(answer),))
            kept = (one for one in notes if one == _LET_GO)
            notes = (*_unvaried(question, answer.value), *_unread(answer.value), *kept)
            varied = varied or any(values is not None for values in answer.value.given)
            judged = self._judged(question, answer.value, parts, trial, limit, notes)
            if judged.differs is not False:
                return judged
            undefined = undefined or judged.undefined
            notes = judged.unsure
        for far, answer in self._far_away(question, limit):
            judged = self._judged(far, answer.value, parts, trials[0], limit, notes)
            if judged.differs:
                return judged
            notes = judged.unsure or notes
        return Outcome(None if question.inputs and not varied else False, notes, undefined)

    def _judged(
        self,
        question: Question,
        fresh: EagerRun,
        parts: list[View],
        trial: Trial,
        limit: float,
        notes: tuple[str, ...],
    ) -> Outcome:
        """What a replay beside one fresh run says."""
        found = self._differences(question, fresh, parts, trial, limit)
        if found is not None and found.real and times_compiled():
            # Compiled code may draw its random numbers otherwise.
            question, answer = self._run_fresh(replace(question, compiled=True), limit)
            if not answer.given:
                return Outcome(None, (_not_compared(answer),))
            fresh = answer.value
            found = self._differences(question, fresh, parts, trial, limit)
        if found is None:
            return Outcome(None, ("not compared with a fresh run: the replay did not come to its end",))
        if found.let_go:
            notes = (*(one for one in notes if one != _LET_GO), _LET_GO)
        if found.real:
            return self._explained(question, fresh, trial, limit, notes)
        return Outcome(False, notes, found.undefined)

    def _far_away(self, question: Question, limit: float) -> Iterator[tuple[Question, Answer]]:
        """Fresh runs beyond the numbers with which the program compares what it reads on the host."""
        if not any(varies(view.dtype) or view.dtype.is_floating_point for view in question.inputs):
            return
        asked = self._fresh.ask(replace(question, deciding=True), limit)
        if asked.given:
            brief = self._running(min(limit, _LIMIT_FAR_AWAY))
            yield from on_both_sides(question, asked.value.decisions, brief)

    def _settled(self, question: Question, limit: float) -> Question:
        choosable = [number for number, view in enumerate(question.inputs) if varies(view.dtype)]
        return settled(question, choosable, self._running(limit)) if choosable else question

    def _run_fresh(self, question: Question, limit: float) -> tuple[Question, Answer]:
        return taken(question, self._running(limit))

    def _running(self, limit: float) -> Callable[[Question], Answer]:
        return lambda question: self._fresh.ask(question, limit)

    def _differences(
        self, question: Question, fresh: EagerRun, parts: list[View], trial: Trial, limit: float
    ) -> Differences | None:
        excused: Mapping[str, Any] | None = None
        let_go = False
        for restored in (False, True):
            answer = trial(question, fresh, restored)
            if not answer.given:
                return None if answer.trouble else Differences(real=True)
            alive = [part for part in parts if part.key in fresh.left and part.key in answer.value.left]
            let_go = alive != parts
            results = _everything(fresh, alive)
            if not results:
                return Differences(real=bool(fresh.wrote), let_go=let_go)
            found = disagreements(results, _everything(answer.value, alive))
            if found and excused is None:
                excused = self._undefined(question, results, alive, limit)
            if not without(found, excused or {}):
                return Differences(undefined=bool(found), let_go=let_go)
        return Differences(real=True, let_go=let_go)

    def _undefined(
        self, question: Question, results: Mapping[str, Any], parts: list[View], limit: float
    ) -> dict[str, Any]:
        """What a fresh run makes of memory that it never wrote; no replay can be held to that."""
        other = self._fresh.ask(replace(question, filling=_OTHER_FILLING), limit)
        again = self._fresh.ask(question, limit)
        if not other.given or not again.given:
            return {}
        unwritten = disagreements(results, _everything(other.value, parts))
        return without(unwritten, disagreements(results, _everything(again.value, parts)))

    def _explained(
        self, question: Question, fresh: EagerRun, trial: Trial, limit: float, notes: tuple[str, ...]
    ) -> Outcome:
        traced = replace(question, traced=True)
        eager = self._fresh.ask(traced, limit)
        replayed = trial(traced, fresh, False)
        steps = [tuple(one.value.steps) if one.given else () for one in (eager, replayed)]
        return Outcome(True, notes, fresh=steps[0], replayed=steps[1])


def _in_a_copy(replayer: Replayer, limit: float) -> Trial:
    return lambda question, fresh, restored: ask(
        partial(replayer.replay, question, fresh, restored=restored), limit
    )


def _everything(run: EagerRun | Replay, parts: Iterable[View]) -> dict[str, Any]:
    """What a run returned, and what it left in the memory that the graph writes."""
    found = {f"result{name}": tensor for name, tensor in run.results.items()}
    for number, part in enumerate(parts):
        left = run.left.get(part.key)
        if left is not None:
            found[f"memory {number}"] = part.on(left.untyped_storage()).clone()
    return found


def _not_compared(answer: Answer) -> str:
    return f"not compared with a fresh run: {answer.trouble or answer.error}"


def _unread(fresh: EagerRun) -> tuple[str, ...]:
    return tuple(
        f"not compared: a result of kind {kind}, whose memory cannot be read here" for kind in fresh.unread
    )


def _unvaried(question: Question, fresh: EagerRun) -> tuple[str, ...]:
    kept = [
        f"{tuple(view.shape)} of {view.dtype}"
        for view, values in zip(question.inputs, fresh.given, strict=True)
        if values is None and view.shape != (0,)
    ]
    if not kept:
        return ()
    return (f"not tried with other values, which the forward function did not take: {', '.join(kept)}",)
