"""Fresh eager runs of a batch, in a copy of the process that was made before any capture."""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from coldfork.graphs.batches import Manner, Prepare
from coldfork.graphs.descriptors import BatchDescriptor, Mode, Phase
from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.passes import Make, running_with
from coldfork.graphs.trials.beginning import Beginning, Draws, Question, View
from coldfork.graphs.trials.earlier_plans import Place, places_of
from coldfork.graphs.trials.groups import moved
from coldfork.graphs.trials.host_reads import HostDecisions, HostDecisionsWatch
from coldfork.graphs.trials.kept_writes import Kept, WriteLog
from coldfork.graphs.trials.large_memory import Pages, Pattern, changed, fill, is_large, takes_pattern
from coldfork.graphs.trials.results import Found, WhatIsKept, results_of, unread_in
from coldfork.graphs.trials.traces import Step, Trace
from coldfork.graphs.trials.variation import at_level, other_values
from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.schemas import Operator, Operators, Way, tensors_in
from coldfork.virtual.capturing.records import Places

_APART = 1009
_MEMORY = 1 << 30
"""How much additional memory a run may take on lengths that the program may never see."""


@dataclass(slots=True)
class EagerRun:
    """The results of a fresh run, and the state from which it started."""

    given: list[Any] = field(default_factory=list)
    """The values of each input."""
    varied: frozenset[int] = frozenset()
    """The numbers of the inputs whose values were changed."""
    before: dict[int, Any] = field(default_factory=dict)
    """The contents before the run of the memory that the graph writes."""
    built: dict[int, Any] = field(default_factory=dict)
    """The contents, after the state was built, of the memory that the program keeps up to date."""
    built_pages: dict[int, Pages] = field(default_factory=dict)
    """The pages of large memory that had changed by that time."""
    results: dict[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    """The kinds of results that cannot be compared."""
    left: dict[int, Any] = field(default_factory=dict)
    """The contents at the end of the memory that the graph writes."""
    wrote: dict[int, Any] = field(default_factory=dict)
    """The contents at the end of all older memory that this run wrote."""
    read: frozenset[int] = frozenset()
    """The numbers of the inputs that the run read."""
    kept: Kept = field(default_factory=Kept)
    """The run's writes to memory that is still in use."""
    pages: dict[int, Pages] = field(default_factory=dict)
    """The changed pages of large memory."""
    steps: list[Step] = field(default_factory=list)
    decisions: HostDecisions = field(default_factory=HostDecisions)
    remade: frozenset[int] = frozenset()
    """The numbers of cleared places that again hold something computed from the inputs."""
    refilled: frozenset[int] = frozenset()
    """The numbers of forgotten cached functions that were called again, and numbers set again."""
    unseen: frozenset[int] = frozenset()
    """The numbers of forgotten places that hold something new while other threads computed, unseen."""
    passed: frozenset[int] = frozenset()
    """The numbers of cached functions that had no cache hit."""


class EagerRunner:
    """Runs batches to answer questions."""

    def __init__(
        self,
        make: Make,
        descriptors: Iterable[BatchDescriptor],
        beginning: Beginning,
        manner: Manner,
        prepare: Prepare | None,
        choose: Prepare | None = None,
    ) -> None:
        self._manner = manner
        self._prepare_inputs = prepare
        self._choose = choose
        self._make = make
        self._descriptors = tuple(descriptors)
        self._beginning = beginning
        self._draws = Draws(beginning.generators)
        self._places: list[Place] = []

    def answer(self, question: Question | WhatIsKept) -> EagerRun | Found:
        """Run a batch and return the run, or find the places that hold what was kept from before."""
        if isinstance(question, Question):
            return self.run(question)
        places, found = places_of(question, self._make, self._beginning, len(self._places))
        self._places += places
        return found

    def run(self, question: Question) -> EagerRun:
        """Set the inputs to other values, build the batch's state, and run it."""
        draws = self._draws
        descriptor = self._descriptors[question.number]
        prepare = self._prepare_inputs if question.prepared else None
        prepare = self._choose if question.chosen else prepare
        given, varied = given_other_values(question, self._beginning, descriptor, prepare, draws)
        told = EagerRun(given=given, varied=varied)
        patterns = patterns_in(question.inputs, told.given)
        told.before = self._beginning.contents(question.written)
        trace = Trace() if question.traced else None
        filled = Filled(question.filling)
        deciding = HostDecisionsWatch(question.inputs) if question.deciding else None
        if question.level is not None:
            _limit_memory()
        for number in sorted(question.forgotten):
            self._places[number].forget()
        hits = [place.hits for place in self._places]
        threads = ThreadWatch()
        with threads, filled, _watched_by(trace), _watched_by(deciding):
            # The random numbers for the state belong to this batch, and differ from those at the capture.
            draws.reseed(question.seed + 1)
            with self._manner.grad_mode():
                forward, state = self._make(descriptor, Phase.CAPTURE)
            with _disable_current_modes():
                told.built = self._beginning.contents(question.kept)
                told.built_pages = changed_pages(patterns, self._beginning)
            if trace is not None:
                trace.keep_host_reads()
            filled.log.clear()
            draws.reseed(question.seed)
            with running_with(state), self._manner.grad_mode(), compiled_or_not(question.compiled):
                output = forward(Mode.NONE)
        computed_by_threads = threads.started or (deciding is not None and deciding.threads)
        told.results, told.unread = results_of(output), unread_in(output)
        told.left = self._beginning.contents(question.written)
        told.wrote = self._beginning.contents(key for key in filled.wrote if self._beginning.holds(key))
        told.pages = changed_pages(patterns, self._beginning)
        told.read = frozenset(
            number
            for number, view in enumerate(question.inputs)
            if computed_by_threads or view.key in filled.read
        )
        told.kept = filled.log.kept(forward, state, output, self._beginning)
        told.steps = trace.steps if trace is not None else []
        if deciding is not None:
            told.decisions = deciding.found
            forgotten = {number: self._places[number] for number in question.forgotten}
            made = {number: place.made(self._beginning) for number, place in forgotten.items()}
            told.remade = frozenset(number for number in made if any(map(deciding.depends, made[number])))
            if computed_by_threads:
                told.unseen = frozenset(number for number in made if made[number])
            told.passed = frozenset(
                number for number, place in enumerate(self._places) if place.hits == hits[number]
            )
            told.refilled = frozenset(number for number, place in forgotten.items() if place.is_filled())
        return told


def given_other_values(
    question: Question,
    beginning: Beginning,
    descriptor: BatchDescriptor,
    prepare: Prepare | None,
    draws: Draws,
) -> tuple[list[Any], frozenset[int]]:
    """Fill the inputs with another batch; return the values and the numbers of the inputs that changed."""
    parts = {
        number: view.on(storage)
        for number, view in enumerate(question.inputs)
        if (storage := beginning.storage(view.key)) is not None and not is_large(storage)
    }
    before = {number: part.clone() for number, part in parts.items()}
    given: list[Any] = list(patterns_for(question.inputs, question.seed, beginning))
    fill_large(question.inputs, given, beginning)
    if prepare is None or question.chosen:
        _vary(question, parts)
    if prepare is not None:
        draws.reseed(question.seed)
        prepare(descriptor, question.seed)
    changed_ones = {number for number, part in parts.items() if not torch.equal(part, before[number])}
    changed_ones |= {number for number, one in enumerate(given) if one is not None}
    for number, part in parts.items():
        given[number] = part.clone()
    return given, frozenset(changed_ones)


def _vary(question: Question, parts: Mapping[int, Any]) -> None:
    chance = torch.Generator().manual_seed(question.seed + _APART * question.attempt)
    held = {number: part.clone() for number, part in parts.items()}
    level = question.level
    for number, part in parts.items():
        strictly = question.attempt > 0
        values = other_values(part, question.boldness[number], chance, strictly=strictly)
        if level is not None and number in level.inputs:
            values = at_level(part, values, level.value, chance, everywhere=level.everywhere)
        if values is not None:
            part.copy_(values)
    for group in question.groups:
        if all(number in held for number, _ in group.members):
            for number, values in moved(group, held, question.attempt, chance).items():
                parts[number].copy_(values)
                held[number] = parts[number].clone()


def patterns_for(inputs: Iterable[View], seed: int, beginning: Beginning) -> Iterator[Pattern | None]:
    """For each input, yield a pattern of new values if it is in large memory, else None."""
    for view in inputs:
        large = is_large(beginning.storage(view.key)) and takes_pattern(view.dtype)
        yield Pattern(view.dtype, seed) if large else None


def fill_large(inputs: Iterable[View], given: Iterable[Any], beginning: Beginning) -> None:
    """Fill large memory with the inputs' patterns; call this only in a copy of the process."""
    for key, pattern in patterns_in(inputs, given).items():
        storage = beginning.storage(key)
        if storage is not None:
            fill(storage, pattern)


def patterns_in(inputs: Iterable[View], given: Iterable[Any]) -> dict[int, Pattern]:
    """Return the patterns among the inputs' values, by the key of the large memory."""
    found: dict[int, Pattern] = {}
    for view, values in zip(inputs, given, strict=True):
        if isinstance(values, Pattern):
            found.setdefault(view.key, values)
    return found


def changed_pages(patterns: Mapping[int, Pattern], beginning: Beginning) -> dict[int, Pages]:
    """Return the pages that have changed since large memory was filled."""
    found = ((key, beginning.storage(key), pattern) for key, pattern in patterns.items())
    return {key: changed(storage, pattern) for key, storage, pattern in found if storage is not None}


def _watched_by(mode: Trace | HostDecisionsWatch | None) -> AbstractContextManager[None]:
    return nullcontext() if mode is None else mode.watching()


def _limit_memory() -> None:
    """Limit the memory of this copy, because new lengths may be taken for huge sizes."""
    pages, resident = map(int, Path("/proc/self/statm").read_text().split()[:2])
    most = (pages + resident) * resource.getpagesize() + _MEMORY
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


def compiled_or_not(allowed: bool) -> AbstractContextManager[None]:
    """Within the block, run compiled functions eagerly, without the compiler, unless compiling is allowed."""
    stance = getattr(sys.modules.get("torch.compiler"), "set_stance", None)
    if allowed or stance is None or "torch._dynamo" not in sys.modules:
        return nullcontext()
    eager: AbstractContextManager[None] = stance("force_eager")
    return eager


class ThreadWatch:
    """Watches for new threads, because modes do not see their operators."""

    def __init__(self) -> None:
        self.started: bool = False
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = threading.getprofile()
        threading.setprofile(self._begun)

    def __exit__(self, *_: object) -> None:
        threading.setprofile(self._before)

    def _begun(self, frame: FrameType, event: str, argument: Any) -> None:
        self.started = True
        sys.setprofile(None)  # no more profiling in this thread


_WRITING = frozenset((Way.COMPUTE, Way.DECOMPOSE))


class Filled(UncompiledMode):
    """A mode that fills new memory with a value, to reveal results that depend on unwritten memory."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value
        self._operators = Operators()
        self._places = Places()
        self.wrote: set[int] = set[int]()
        """The memory that operators wrote to."""
        self.read: set[int] = set[int]()
        """The memory that was passed to operators."""
        self.log: WriteLog = WriteLog()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operator = self._operators.of(func)
        result = func(*args, **kwargs)
        if operator.way is Way.EMPTY:
            for tensor in tensors_in(result):
                if is_readable(tensor):
                    tensor.detach().fill_(self._value)
            return result
        self.read.update(key_of(one) for one in tensors_in((args, kwargs)) if is_readable(one))
        if operator.way in _WRITING:
            written = tensors_in([one.of(args, kwargs) for one in operator.written])
            self.wrote.update(key_of(one) for one in written if is_readable(one))
            self.log.note(operator.name, self._places.here(2), written_by(operator, args, kwargs, result))
        return result


def written_by(operator: Operator, args: Any, kwargs: Any, result: Any) -> Iterator[Any]:
    """Yield the tensors that an operator wrote: those passed for its output, and new ones."""
    given = [one.of(args, kwargs) for one in operator.written]
    yield from tensors_in(given)
    old = {key_of(one) for one in tensors_in((args, kwargs)) if is_readable(one)}
    yield from (one for one in tensors_in(result) if is_readable(one) and key_of(one) not in old)
