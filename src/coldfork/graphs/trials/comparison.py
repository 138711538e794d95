"""Comparisons of replays with fresh eager runs, on input values that the warm-up never saw."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import torch

from coldfork.graphs.batches import Manner, Prepare
from coldfork.graphs.descriptors import BatchDescriptor, Mode
from coldfork.graphs.engines import Engine
from coldfork.graphs.findings import NotCompared
from coldfork.graphs.passes import Make
from coldfork.graphs.trials.beginning import Beginning, Question, View, distinct_part_of
from coldfork.graphs.trials.copies import Answer, Standby, revive_executors
from coldfork.graphs.trials.eager_runs import EagerRun, EagerRunner, fill_large, patterns_for
from coldfork.graphs.trials.earlier_plans import made_anew
from coldfork.graphs.trials.groups import grouped
from coldfork.graphs.trials.host_reads import on_both_sides
from coldfork.graphs.trials.judging import Judge, Judgement, Way
from coldfork.graphs.trials.large_memory import forget, is_large, keep
from coldfork.graphs.trials.other_operators import OtherOperators, other_steps
from coldfork.graphs.trials.replays import (
    Earlier,
    Filling,
    Mirror,
    Replayer,
    Trial,
    numbers_of,
    read_keys,
    records_of,
    written_keys,
    written_parts,
)
from coldfork.graphs.trials.results import WhatIsKept
from coldfork.graphs.trials.variation import (
    BOLD,
    settled,
    taken,
    varied_since,
    varies,
    wildly,
    with_contrary_flags,
)
from coldfork.virtual.capturing.compiled.calls import times_compiled

_SEEDS = (11, 23, 37)
"""The seeds of the trials of each batch."""
_SHORTEST_LIMIT = 60.0
_LIMIT_OF_RUNS = 50.0
"""The limit of a fresh run, as a multiple of the time that its capture took."""
_LIMIT_FAR_AWAY = 20.0
"""The limit in seconds for runs on values that the program may never meet."""
_NO_OTHER_VALUES = "the forward function uses the same values in every run"
_PREPARED_ALIKE = (
    "prepare= fills in the same values for every seed",
    "let it fill in different values for each seed",
)
_BEGIN_COLD = "check in a process that has served no batch, or allow it by name if it is part of the model"
_GIVE_VALUES = "say with prepare= how your program fills the inputs of a step"

Named = Iterable[tuple[str, Any]]
"""Tensors with the caller's names for them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Memory that a batch used during its capture."""

    inputs: frozenset[int]
    """Memory from before the check that was read, and that holds new values in each step."""
    rebuilt: frozenset[int]
    """Memory that was written while the captured state was built."""


class Comparison:
    """A comparison of one manager's batches with fresh runs from the state before any capture."""

    def __init__(
        self,
        make: Make,
        descriptors: Iterable[BatchDescriptor],
        persistent: Named,
        inputs: Named | None,
        engine: Engine,
        manner: Manner,
        prepare: Prepare | None,
        choose: Prepare | None = None,
    ) -> None:
        # Copies compute at the same time, and more threads than cores would slow each other down.
        self._threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self._prepare, self._choose = prepare, choose
        self._descriptors = tuple(descriptors)
        self._make = make
        self._beginning = Beginning()
        self._names: dict[View, str] = {}
        self._persistent = self._named(persistent)
        self._inputs = None if inputs is None else self._named(inputs)
        # Imported here, so that no copy of this process has to import the modules.
        for module in ("torch.fx.experimental.symbolic_shapes", "torch._subclasses.schema_check_mode"):
            importlib.import_module(module)
        declared = (*self._persistent, *(self._inputs or ()))
        keep(one for seed in _SEEDS for one in patterns_for(declared, seed, self._beginning) if one)
        runner = EagerRunner(make, self._descriptors, self._beginning, manner, prepare, choose)
        self._fresh = Standby(runner.answer, self._begin_runs)
        mirror = Mirror(make, self._descriptors, self._beginning, engine, manner, prepare)
        self._mirror = Standby(mirror.answer, self._begin_runs)
        self._earlier: list[Earlier] = []
        self._looked_for: set[float] | None = None
        self._began = time.monotonic()

    def _begin_runs(self) -> None:
        """Let the program's own code run in a standby copy."""
        self._begin()
        revive_executors(self._beginning.others(ThreadPoolExecutor))

    def _begin(self) -> None:
        """Map large memory to a file in a standby copy, so that further copies of this memory are cheap."""
        declared = (*self._persistent, *(self._inputs or ()))
        fill_large(declared, patterns_for(declared, _SEEDS[0], self._beginning), self._beginning)

    def close(self) -> None:
        """End the standby processes."""
        self._fresh.close()
        self._mirror.close()
        forget()
        torch.set_num_threads(self._threads)

    def outcome(self, batch: Any, seen: Seen) -> Judgement:
        """Compare the most recently captured batch with fresh runs."""
        limit = max(_SHORTEST_LIMIT, _LIMIT_OF_RUNS * (time.monotonic() - self._began))
        question = self._question(batch, seen)
        places = self._places_from_before(batch, limit)
        # The runs without what is in these places are compared with this first one, also in what decides.
        asked = replace(question, deciding=places is not None)
        self._fresh.ask_ahead(asked, limit)
        replayer = Replayer(batch, {}, self._beginning, self._make, Filling.now(self._prepare))
        with closing(Standby(replayer.replay, self._begin)) as copies:
            alone = Way(partial(copies.ask, limit=limit))
            question, first = self._settled(question, self._running(limit)(asked), limit)
            unknown: list[tuple[str, str]] = []
            if places is not None:
                brief = self._running(min(limit, _LIMIT_FAR_AWAY))
                as_it_is = first if first and first.given else brief(replace(question, deciding=True))
                kept, unknown = made_anew(question, places, as_it_is, brief)
                first = first or (as_it_is if as_it_is.given else None)
                if kept:
                    question, first = replace(question, forgotten=kept), None
            outcome = self._try(batch, question, first, alone, limit)
            more = (NotCompared(str(batch.descriptor), *one, _BEGIN_COLD) for one in dict.fromkeys(unknown))
            outcome = replace(outcome, gaps=(*outcome.gaps, *more))
        self._began = time.monotonic()
        return outcome

    def _mirrored(self, question: Question, limit: float) -> tuple[Way | None, Answer]:
        """Capture again after a warm-up on these values; leftovers of one on zeros might not show."""
        # Only piecewise batches are compiled again, which takes long: the compiler cuts them into pieces.
        compiled = self._descriptors[question.number].mode is Mode.PIECEWISE
        answer = self._mirror.ask(replace(question, compiled=compiled), limit, lasting=True)
        if not answer.given:
            return None, answer
        return Way(partial(self._mirror.ask, limit=limit), tuple(self._earlier), compiled), answer

    def _places_from_before(self, batch: Any, limit: float) -> Answer | None:
        """Return the places of what a batch uses from before the check; None if they were returned before."""
        read = read_keys(batch) - self._declared() - written_keys(batch)
        keys = {key for key in read if self._beginning.holds(key)} - (self._looked_for or set())
        numbers = numbers_of(batch) - (self._looked_for or set())
        if not keys and not numbers and self._looked_for is not None:
            return None
        self._looked_for = keys | numbers | (self._looked_for or set())
        return self._fresh.ask(WhatIsKept(frozenset(keys), numbers), limit, lasting=True)

    def _declared(self) -> frozenset[int]:
        return frozenset(view.key for view in (*self._persistent, *(self._inputs or ())))

    def _judge(self, batch: Any, limit: float) -> Judge:
        descriptor = str(batch.descriptor)
        return Judge(
            descriptor, written_parts(batch), self._declared(), read_keys(batch), self._running(limit)
        )

    def _question(self, batch: Any, seen: Seen) -> Question:
        kept = seen.rebuilt | {view.key for view in self._persistent}
        return Question(
            self._descriptors.index(batch.descriptor),
            # Persistent memory also gets new values: the program keeps it up to date for each batch.
            inputs := tuple(dict.fromkeys((*self._inputs_of(seen), *self._persistent))),
            (BOLD,) * len(inputs),
            _SEEDS[0],
            frozenset(key for key in kept if self._beginning.holds(key)),
            frozenset(key for key in written_keys(batch) if self._beginning.holds(key)),
            prepared=self._prepare is not None,
        )

    def _inputs_of(self, seen: Seen) -> Iterator[View]:
        if self._inputs is not None:
            yield from self._inputs
            return
        for key in sorted(seen.inputs):
            tensor = self._beginning.largest(key)
            if tensor is not None:
                yield distinct_part_of(tensor)

    def _named(self, tensors: Named) -> tuple[View, ...]:
        found = {distinct_part_of(tensor): name for name, tensor in tensors}
        self._names.update(found)
        return tuple(found)

    # --- comparing runs -------------------------------------------------------------------------

    def _try(
        self, batch: Any, question: Question, first: Answer | None, alone: Way, limit: float
    ) -> Judgement:
        judge = self._judge(batch, limit)
        gaps: dict[NotCompared, None] = {}
        read, varied = set[int](), set[int]()
        undefined, start = False, None
        asking = self._questions(question)
        way = alone
        for number, asked in enumerate(asking):
            question, answer = (asked, first) if first else self._run_fresh(asked, limit)
            first = None
            if not answer.given:
                return Judgement(None, (judge.failed(answer, _GIVE_VALUES),))
            for following in asking[number + 1 : number + 2]:
                self._fresh.ask_ahead(following, limit)
            fresh: EagerRun = answer.value
            read |= fresh.read
            start = start or fresh
            varied |= varied_since(start, fresh, question)
            judged = self._judged(judge, Trial(question, fresh, after=way.after), way, limit)
            if judged.differs is not False:
                return judged
            undefined = undefined or judged.undefined
            gaps.update(dict.fromkeys(judged.gaps))
            way = alone
            if number == 0:
                # Only after the first trial, because a run that hangs would hang here as well.
                mirrored, answer = self._mirrored(question, limit)
                if mirrored is None:
                    gaps[judge.failed(answer, _GIVE_VALUES)] = None
                self._earlier.append(Earlier.of(question, fresh))
                way = mirrored or alone
        further = self._far_away(batch, question, fresh, limit)
        for far, answer in chain(self._chosen(question, limit), further):
            if not answer.given:
                gaps[judge.gap(self._varied_in(far), answer.trouble or answer.error, _GIVE_VALUES)] = None
                continue
            judged = self._judged(judge, Trial(far, answer.value), alone, limit)
            varied |= varied_since(start or fresh, answer.value, question)
            if judged.differs:
                return judged
            gaps.update(dict.fromkeys(judged.gaps))
        # Inputs that `prepare` leaves unchanged are the same in each step of the program.
        same = [] if question.prepared and varied else sorted(read - varied)
        why = _PREPARED_ALIKE if question.prepared else (_NO_OTHER_VALUES, _GIVE_VALUES)
        unvaried = [judge.gap(self._name(question.inputs[one]), *why) for one in same]
        compared = None if read and not read & varied else False
        return Judgement(compared, (*gaps, *unvaried), undefined)

    def _questions(self, question: Question) -> list[Question]:
        """Return the questions for each batch: different seeds and, without `prepare`, bolder values."""
        asking = [question] * len(_SEEDS)
        if not question.prepared:
            asking = [question, wildly(question), with_contrary_flags(question)]
        first, second, last = (replace(one, seed=seed) for one, seed in zip(asking, _SEEDS, strict=True))
        kinds = [view.dtype for view in question.inputs]
        deciding = any(varies(one) or one.is_floating_point for one in kinds)
        return [first, second, replace(last, deciding=deciding)]

    def _judged(self, judge: Judge, trial: Trial, way: Way, limit: float) -> Judgement:
        """Compare a replay with one fresh run; if they differ, try a fresh run with compiled functions."""
        judged = judge.judge(trial, way.try_out)
        if judged.differs and way.compiled and times_compiled():
            # Compiled code may draw other random numbers than eager code. On milder or other values, a run
            # could not show whether this is all that differs.
            question = replace(trial.question, compiled=True)
            answer = self._fresh.ask(question, limit)
            if not answer.given:
                return Judgement(None, (judge.failed(answer, _GIVE_VALUES),))
            judged = judge.judge(replace(trial, question=question, fresh=answer.value), way.try_out)
        return judged

    def _name(self, view: View) -> str:
        return self._names.get(view, f"a tensor {tuple(view.shape)} of {view.dtype}")

    def _chosen(self, question: Question, limit: float) -> Iterator[tuple[Question, Answer]]:
        """Yield the run on the values that the caller chose, if any."""
        if self._choose is not None:
            asked = replace(question, chosen=True, deciding=False)
            yield asked, self._running(limit)(asked)

    def _varied_in(self, question: Question) -> str:
        """Return the names of the inputs that a run sets to a value, or `results` if it sets none."""
        inputs = sorted(question.level.inputs) if question.level is not None else ()
        return ", ".join(self._name(question.inputs[one]) for one in inputs) or "results"

    def _far_away(
        self, batch: Any, question: Question, fresh: EagerRun, limit: float
    ) -> Iterator[tuple[Question, Answer]]:
        """Yield further fresh runs if the host reads inputs that may decide which operators run."""
        if not question.deciding or not fresh.decisions.inputs:
            return
        brief = self._running(min(limit, _LIMIT_FAR_AWAY))
        question = replace(question, deciding=False, traced=True)
        others = OtherOperators(records_of(batch), brief)
        if question.prepared or question.groups:
            yield from others.among(other_steps(question, brief, len(self._descriptors)))
        if question.prepared:
            return
        yield from others.on_other_values(question, brief(question))
        for far, answer in on_both_sides(question, fresh.decisions, brief):
            yield replace(far, traced=False), answer
            yield from others.on_other_values(far, answer)

    def _settled(self, question: Question, answer: Answer, limit: float) -> tuple[Question, Answer | None]:
        """Return the question with values that the program accepts, and the answer if it accepts them all."""
        if not answer.error:
            return question, answer
        choosable = [number for number, view in enumerate(question.inputs) if varies(view.dtype)]
        if question.prepared or not choosable:
            return question, None
        run = self._running(limit)
        question = settled(question, choosable, run)
        whole = {
            number: question.inputs[number].on(storage)
            for number in choosable
            if question.inputs[number].dtype is not torch.bool
            and not is_large(storage := self._beginning.storage(question.inputs[number].key))
            and storage is not None
        }
        return (grouped(question, whole, run) if whole.keys() - question.varying else question), None

    def _run_fresh(self, question: Question, limit: float) -> tuple[Question, Answer]:
        return taken(question, self._running(limit))

    def _running(self, limit: float) -> Callable[[Question], Answer]:
        return lambda question: self._fresh.ask(question, limit)
