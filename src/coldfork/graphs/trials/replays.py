"""A replay of a captured batch on another batch's inputs, in a copy of the process that captured it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from coldfork.graphs import batches
from coldfork.graphs.batches import Make, Manner
from coldfork.graphs.descriptors import BatchDescriptor, Mode, Phase
from coldfork.graphs.engines import Engine
from coldfork.graphs.passes import StaticInputs
from coldfork.graphs.surroundings import Inspection
from coldfork.graphs.trials.beginning import Beginning, Draws, Question, bytes_of, view_of
from coldfork.graphs.trials.eager_runs import EagerRun, given_other_values
from coldfork.graphs.trials.results import results_of
from coldfork.graphs.trials.traces import Step, trace_of
from coldfork.virtual.capturing.memory import Kind


@dataclass(slots=True)
class Replay:
    """What a replay computed."""

    results: dict[str, Any] = field(default_factory=dict)
    left: dict[int, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


class Replayer:
    """Replays one batch, as far as it is the same as a fresh run before it."""

    def __init__(self, batch: Any, earlier: Iterable[Any], beginning: Beginning, make: Make) -> None:
        self._batch = batch
        self._make = make
        self._beginning = beginning
        read = {use.memory.key for record in records_of(batch) for use in record.read}
        # Graphs that came before run between the steps of this one, and leave there what they write.
        self._earlier = [one for one in earlier if read & written_keys(one)]

    def replay(self, question: Question, fresh: EagerRun, *, restored: bool) -> Replay:
        """Take over the inputs of a fresh run, and replay.

        `restored` puts back what the graph itself writes to what it was at the beginning, as it was for the
        fresh run: a cache or a counter goes on from there.
        """
        self._give(question, fresh)
        for batch in self._earlier:
            batch.replay()
        self._give(question, fresh)
        if restored:
            self._restore(fresh)
        for key in question.kept:
            storage = self._beginning.storage(key)
            if key in fresh.built and storage is not None:
                bytes_of(storage).copy_(fresh.built[key])
        Draws(_generators(self._batch)).reseed(question.seed)
        told = Replay()
        if question.traced:
            told.steps = list(trace_of(records_of(self._batch)))
            return told
        told.results = results_of(self._replayed())
        told.left = self._beginning.contents(question.written)
        return told

    def _replayed(self) -> Any:
        descriptor = self._batch.descriptor
        if descriptor.mode is not Mode.PIECEWISE:
            return self._batch.replay()
        # What runs between the pieces is given this batch's state, as an engine gives it in each step.
        _, state = self._make(descriptor, Phase.CAPTURE)
        return self._batch.replay_pieces(state)

    def _give(self, question: Question, fresh: EagerRun) -> None:
        for view, values in zip(question.inputs, fresh.given, strict=True):
            storage = self._beginning.storage(view.key)
            if values is not None and storage is not None:
                view.on(storage).copy_(values)

    def _restore(self, fresh: EagerRun) -> None:
        own = written_keys(self._batch)
        for use in (use for batch in (*self._earlier, self._batch) for use in _writes(batch)):
            if use.memory.key not in own:
                continue  # what only others write is theirs
            before = fresh.before.get(use.memory.key)
            if before is not None:
                part = view_of(use.tensor)
                part.on(use.memory.storage).copy_(part.on(before.untyped_storage()))


def records_of(batch: Any) -> Iterator[Any]:
    """What the graphs of a batch recorded."""
    for graph in batch.graphs:
        yield from graph.records


def written_keys(batch: Any) -> frozenset[int]:
    """The memory from outside that a batch's graphs write."""
    return frozenset(use.memory.key for use in _writes(batch))


def written_parts(batch: Any) -> list[Any]:
    """The parts of it, as views."""
    return list(dict.fromkeys(view_of(use.tensor) for use in _writes(batch)))


def _writes(batch: Any) -> Iterator[Any]:
    for record in records_of(batch):
        yield from (use for use in record.wrote if use.memory.kind is Kind.OUTSIDE)


def _generators(batch: Any) -> list[Any]:
    given = [(*record.args, *record.kwargs.values()) for record in records_of(batch)]
    return [one for values in given for one in values if isinstance(one, torch.Generator)]


Replaying = tuple[Question, EagerRun, bool]


class Mirror:
    """Captures the batches in the order in which the program does, and replays them."""

    def __init__(
        self,
        make: Make,
        descriptors: Iterable[BatchDescriptor],
        beginning: Beginning,
        engine: Engine,
        manner: Manner,
    ) -> None:
        self._make = make
        self._descriptors = tuple(descriptors)
        self._beginning = beginning
        self._engine = engine
        self._manner = manner
        self._pool: Any = None
        self._captured: list[Any] = []

    def answer(self, question: Question | Replaying) -> Replay | None:
        """Capture a batch, or replay the one that was captured last."""
        if isinstance(question, Question):
            self._capture(question)
            return None
        asked, fresh, restored = question
        replayer = Replayer(self._captured[-1], self._captured[:-1], self._beginning, self._make)
        return replayer.replay(asked, fresh, restored=restored)

    def _capture(self, question: Question) -> None:
        descriptor = self._descriptors[question.number]
        given_other_values(question, self._beginning)
        inputs = StaticInputs(descriptor, {})
        batch, _, self._pool = batches.capture(
            descriptor, self._make, self._engine, self._pool, inputs, Inspection(), self._manner
        )
        self._captured.append(batch)
