"""Replays of a captured batch on other inputs, in a copy of the process that captured it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs import batches
from coldfork.graphs.batches import Manner, Prepare
from coldfork.graphs.descriptors import BatchDescriptor, Mode, Phase
from coldfork.graphs.engines import Engine
from coldfork.graphs.leaks.memory import is_readable
from coldfork.graphs.passes import Make, StaticInputs
from coldfork.graphs.surroundings import Inspection
from coldfork.graphs.trials.beginning import (
    Beginning,
    Draws,
    Question,
    View,
    bytes_of,
    generators_now,
    view_of,
)
from coldfork.graphs.trials.eager_runs import (
    EagerRun,
    changed_pages,
    compiled_or_not,
    fill_large,
    given_other_values,
    patterns_in,
)
from coldfork.graphs.trials.kept_writes import Matched, Write, found_in, keys_in, match
from coldfork.graphs.trials.large_memory import Pages, Pattern, put_back
from coldfork.graphs.trials.results import results_of
from coldfork.graphs.trials.traces import Step, trace_of
from coldfork.virtual.capturing.memory import Kind
from coldfork.virtual.capturing.operators.schemas import Way

_LARGEST_OF_EARLIER = 1 << 20
"""Larger inputs of an earlier batch are not kept; they keep the values of the batch after it."""


@dataclass(slots=True)
class Replay:
    """The results of a replay."""

    results: dict[str, Any] = field(default_factory=dict)
    left: dict[int, Any] = field(default_factory=dict)
    pages: dict[int, Pages] = field(default_factory=dict)
    """The changed pages of large memory."""
    matched: Matched = field(default_factory=Matched)
    """The replay's writes to memory that is still in use, matched with those of the fresh run."""
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier captured batch, with values that the program accepts for the batch's inputs."""

    number: int
    """The number of the batch."""
    inputs: tuple[View, ...]
    given: tuple[Any, ...]

    @classmethod
    def of(cls, question: Question, fresh: EagerRun) -> Self:
        """Return the batch of a fresh run, without the values of large inputs."""
        given = (
            None if one is None or isinstance(one, Pattern) or one.nbytes > _LARGEST_OF_EARLIER else one
            for one in fresh.given
        )
        return cls(question.number, question.inputs, tuple(given))


@dataclass(frozen=True, slots=True)
class Trial:
    """The conditions under which a replay starts."""

    question: Question
    fresh: EagerRun
    restored: bool = False
    """Whether memory that the graph writes is first restored to its contents from before the fresh run,
    because a cache or counter continues from there."""
    after: tuple[Earlier, ...] = ()
    """The batches to replay before it, each with its own values."""


@dataclass(frozen=True, slots=True)
class Filling:
    """How the program itself fills its inputs, and all sources of random numbers that it may use for it."""

    prepare: Prepare | None
    draws: Draws

    @classmethod
    def now(cls, prepare: Prepare | None) -> Self:
        """Return one with the sources that exist now, which are only looked for if there is a `prepare`."""
        return cls(prepare, Draws(generators_now() if prepare is not None else ()))


class Replayer:
    """Replays one batch under the same conditions as a fresh run."""

    def __init__(
        self,
        batch: Any,
        captured: Mapping[int, tuple[Any, frozenset[int]]],
        beginning: Beginning,
        make: Make,
        filling: Filling,
    ) -> None:
        """Prepare to replay `batch`; `captured` are the batches to replay before it, and the memory they
        write.
        """
        self._filling = filling
        self._batch = batch
        self._make = make
        self._beginning = beginning
        self._captured = captured
        self._read = read_keys(batch)

    def replay(self, trial: Trial) -> Replay:
        """Copy the inputs of the fresh run, and replay the batch."""
        question, fresh = trial.question, trial.fresh
        earlier: list[Any] = []
        # Earlier writes to large memory do not matter, because all of it is overwritten.
        open_to_others = self._read - patterns_in(question.inputs, fresh.given).keys()
        for one in trial.after:
            batch, written = self._captured.get(one.number, (None, frozenset()))
            # As in the program, graphs of earlier batches run between the steps of this batch, and leave
            # their writes.
            if open_to_others & written:
                self._give(one.inputs, one.given)
                batch.replay()
                earlier.append(batch)
        if question.prepared and not question.chosen and self._filling.prepare is not None:
            # `prepare` may fill more than the inputs; these get the fresh run's values afterwards.
            self._filling.draws.reseed(question.seed)
            self._filling.prepare(self._batch.descriptor, question.seed)
        self._give(question.inputs, fresh.given)
        if trial.restored:
            self._restore(fresh, earlier)
        for key in question.kept:
            storage = self._beginning.storage(key)
            if key in fresh.built and storage is not None:
                bytes_of(storage).copy_(fresh.built[key])
        for key, pages in fresh.built_pages.items():
            storage = self._beginning.storage(key)
            if pages.numbers.numel() and storage is not None:
                put_back(storage, pages)
        Draws(_generators(self._batch)).reseed(question.seed)
        told = Replay()
        if question.traced:
            told.steps = list(trace_of(records_of(self._batch)))
            return told
        told.results = results_of(self._replayed())
        told.left = self._beginning.contents({*question.written, *fresh.wrote})
        told.pages = changed_pages(patterns_in(question.inputs, fresh.given), self._beginning)
        told.matched = self._matched(question, fresh, told.left)
        return told

    def _replayed(self) -> Any:
        descriptor = self._batch.descriptor
        if descriptor.mode is not Mode.PIECEWISE:
            return self._batch.replay()
        # The code between pieces gets a state for this batch, as an engine passes one in each step.
        _, state = self._make(descriptor, Phase.CAPTURE)
        return self._batch.replay_pieces(state)

    def _give(self, inputs: Iterable[View], given: Iterable[Any]) -> None:
        inputs, given = list(inputs), list(given)
        fill_large(inputs, given, self._beginning)
        for view, values in zip(inputs, given, strict=True):
            storage = self._beginning.storage(view.key)
            if values is not None and storage is not None and not isinstance(values, Pattern):
                view.on(storage).copy_(values)

    def _restore(self, fresh: EagerRun, earlier: Iterable[Any]) -> None:
        own = written_keys(self._batch)
        for use in (use for batch in (*earlier, self._batch) for use in _writes(batch)):
            if use.memory.key not in own:
                continue  # written by other batches only
            before = fresh.before.get(use.memory.key)
            if before is not None:
                part = view_of(use.tensor)
                part.on(use.memory.storage).copy_(part.on(before.untyped_storage()))

    def _matched(self, question: Question, fresh: EagerRun, left: Mapping[int, Any]) -> Matched:
        batch = self._batch
        compared = {key for key in question.written if key in left and key in fresh.left} | fresh.pages.keys()
        by_place = {key: name_of(key) for key in compared}
        writes = list(_kept_writes(batch))
        found = found_in(batch._forward, batch._state, {write.part.key for write, _ in writes})
        return match(writes, fresh.kept, by_place, found, continued_keys(batch))


def name_of(key: int) -> str:
    """Return the name under which some older memory is compared."""
    return f"memory {key:x}"


def _kept_writes(batch: Any) -> Iterator[tuple[Write, Any]]:
    """Yield the graphs' writes to memory that the program still uses, except memory of returned tensors."""
    returned = keys_in(batch.output)
    for piece in batch._pieces:
        returned |= keys_in(piece.output)
    last = {memory.key: memory for graph in batch.graphs for memory in graph.memories}
    found: dict[tuple[str, Any, View], tuple[Write, Any]] = {}
    for record in records_of(batch):
        for use in record.wrote if record.operator.way is not Way.EMPTY else ():
            memory = use.memory
            if memory.key in returned or last[memory.key] is not memory or not is_readable(use.tensor):
                continue
            if memory.kind is Kind.OUTSIDE or (memory.kind is Kind.POOL and not memory.block.is_free()):
                write = Write(record.name, record.where, view_of(use.tensor))
                entry = write.name, record.place, write.part
                found.pop(entry, None)  # a later write to the same part replaces this one
                found[entry] = write, memory.storage
    yield from found.values()


def continued_keys(batch: Any) -> frozenset[int]:
    """Return the keys of memory from outside that a batch's graphs read before writing to it."""
    found, written = set[int](), set[int]()
    for record in records_of(batch):
        outside = {use.memory.key for use in record.read if use.memory.kind is Kind.OUTSIDE}
        found |= outside - written
        written |= {use.memory.key for use in record.wrote}
    return frozenset(found)


def records_of(batch: Any) -> Iterator[Any]:
    """Yield the records of a batch's graphs."""
    for graph in batch.graphs:
        yield from graph.records


def read_keys(batch: Any) -> frozenset[int]:
    """Return the keys of memory that a batch's graphs read."""
    return frozenset(use.memory.key for record in records_of(batch) for use in record.read)


def numbers_of(batch: Any) -> frozenset[float]:
    """Return the floating-point numbers that a batch's graphs keep from their capture."""
    given = (pytree.tree_leaves((record.args, record.kwargs)) for record in records_of(batch))
    return frozenset(one for values in given for one in values if type(one) is float)


def written_keys(batch: Any) -> frozenset[int]:
    """Return the keys of memory from outside that a batch's graphs write to."""
    return frozenset(use.memory.key for use in _writes(batch))


def written_parts(batch: Any) -> list[Any]:
    """Return the parts of memory from outside that a batch's graphs write to, as views."""
    return list(dict.fromkeys(view_of(use.tensor) for use in _writes(batch)))


def _writes(batch: Any) -> Iterator[Any]:
    for record in records_of(batch):
        yield from (use for use in record.wrote if use.memory.kind is Kind.OUTSIDE)


def _generators(batch: Any) -> list[Any]:
    given = [(*record.args, *record.kwargs.values()) for record in records_of(batch)]
    return [one for values in given for one in values if isinstance(one, torch.Generator)]


class Mirror:
    """A second capture of the batches, in the program's order, to replay them."""

    def __init__(
        self,
        make: Make,
        descriptors: Iterable[BatchDescriptor],
        beginning: Beginning,
        engine: Engine,
        manner: Manner,
        prepare: Prepare | None,
    ) -> None:
        self._filling = Filling(prepare, Draws(beginning.generators))
        self._make = make
        self._descriptors = tuple(descriptors)
        self._beginning = beginning
        self._engine = engine
        self._manner = manner
        self._pool: Any = None
        self._captured: dict[int, tuple[Any, frozenset[int]]] = {}
        self._last: Any = None

    def answer(self, question: Question | Trial) -> Replay | None:
        """Capture a batch, or replay the batch captured last."""
        if isinstance(question, Question):
            self._capture(question)
            return None
        replayer = Replayer(self._last, self._captured, self._beginning, self._make, self._filling)
        return replayer.replay(question)

    def _capture(self, question: Question) -> None:
        descriptor = self._descriptors[question.number]
        prepare = self._filling.prepare if question.prepared else None
        given_other_values(question, self._beginning, descriptor, prepare, self._filling.draws)
        inputs = StaticInputs(descriptor, {})
        with ExitStack() as compiling:

            def make(descriptor: BatchDescriptor, phase: Phase) -> Any:
                made = self._make(descriptor, phase)
                compiling.enter_context(compiled_or_not(question.compiled))
                return made

            batch, _, self._pool = batches.capture(
                descriptor, make, self._engine, self._pool, inputs, Inspection(), self._manner
            )
        self._captured[question.number] = batch, written_keys(batch)
        self._last = batch
        self._filling = Filling.now(self._filling.prepare)
