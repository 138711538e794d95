"""The capture of one batch: the warm-up runs on one state, the capture on a fresh one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs.descriptors import (
    BatchDescriptor,
    CreateForward,
    CreateForwardOn,
    Forward,
    Mode,
    Phase,
    StatePair,
)
from coldfork.graphs.engines import Engine, Graph
from coldfork.graphs.errors import CaptureFailedError, GraphError, NotCapturedError
from coldfork.graphs.outputs import Generation
from coldfork.graphs.passes import Make, StaticInputs, running_with
from coldfork.graphs.pieces import CURRENT, CapturedPiece, CapturingPass, ReplayingPass
from coldfork.graphs.surroundings import Inspection
from coldfork.virtual.capturing.compiled.calls import times_compiled
from coldfork.virtual.capturing.graph import compiled_graphs_shown

Prepare = Callable[[BatchDescriptor, int], object]
"""Fills the inputs of one step of a batch as the program does; the number, a seed, identifies the step."""
Around = Callable[[BatchDescriptor], AbstractContextManager[Any]]
"""Returns a context manager that is entered around the capture of a batch."""


AroundWarmUp = Callable[[BatchDescriptor, int], AbstractContextManager[Any]]
"""Returns a context manager for the warm-up run with this number; ranks can wait in it, or reset state."""
Capturing = Callable[[BatchDescriptor, Any], AbstractContextManager[Graph]]
"""Returns an engine's own context manager that captures into a pool and yields the graph."""


def nothing_around(*what: object) -> AbstractContextManager[Any]:
    """Return a context manager that does nothing."""
    return nullcontext()


def unguarded() -> None:
    """Return None in place of a `Generation`, so that outputs are not guarded."""


def making(
    create_forward: CreateForward | CreateForwardOn, states: Mapping[BatchDescriptor, StatePair] | None
) -> Make:
    """Return a function that makes the forward function of a batch; with `states`, it uses the states of
    another manager.
    """
    create: Any = create_forward
    if states is None:
        made: Make = create
        return made

    def make(descriptor: BatchDescriptor, phase: Phase) -> Any:
        pair = states.get(descriptor)
        if pair is None:
            raise NotCapturedError(f"the other manager has no state for {descriptor}")
        return create(descriptor, phase, pair.of(phase))

    return make


@dataclass(frozen=True, slots=True)
class Manner:
    """The settings for capturing and replaying batches."""

    around: Around = nothing_around
    warmups: int = 1
    """How many times a forward function runs before the capture."""
    around_warmup: AroundWarmUp = nothing_around
    capturing: Capturing | None = None
    """Replaces the device's own capture context."""
    grad_mode: Callable[[], AbstractContextManager[Any]] = torch.no_grad
    """The gradient mode in which forward functions run."""
    weak_outputs: bool = False
    """Whether other graphs of the pool may reuse the memory of outputs."""
    generation: Callable[[], Generation | None] = unguarded
    """A function that returns the generation that guards the outputs of a batch, or None."""

    @contextmanager
    def captures(self, engine: Engine, descriptor: BatchDescriptor, pool: Any) -> Iterator[Graph]:
        """Capture the work of the block."""
        own = None if self.capturing is None else self.capturing(descriptor, pool)
        with engine.capture(pool, descriptor) if own is None else own as graph:
            if not hasattr(graph, "replay"):
                raise GraphError(f"capturing= gave {graph!r}, which has no replay()")
            yield graph


class CapturedBatch:
    """One batch with its graph, or with the graphs of its pieces."""

    __slots__ = (
        "_forward", "_generation", "_grad_mode", "_graph", "_pieces", "_state", "descriptor", "inputs",
        "nbytes", "output",
    )  # fmt: skip

    def __init__(
        self,
        descriptor: BatchDescriptor,
        state: Any,
        inputs: StaticInputs,
        captured: tuple[Graph | None, list[CapturedPiece], Forward],
        output: Any,
        manner: Manner,
    ) -> None:
        self.descriptor: BatchDescriptor = descriptor
        self._state = state
        self.inputs: StaticInputs = inputs
        self._graph, self._pieces, self._forward = captured
        self.output: Any = output
        self._grad_mode = manner.grad_mode
        self._generation = manner.generation()
        self.nbytes: int = 0
        """The number of bytes by which its capture enlarged the graphs' memory."""

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The batch's graph, or the graphs of its pieces."""
        if self._graph is not None:
            return (self._graph,)
        return tuple(graph for piece in self._pieces for graph in piece.graphs)

    def replay(self) -> Any:
        """Replay the batch on the current contents of its input buffers."""
        if self._graph is None:
            return self.replay_pieces(self._state)
        self._graph.replay()
        if self._generation is None:
            return self.output
        return self._generation.guard(self.output, str(self.descriptor))

    def replay_pieces(self, state: Any) -> Any:
        """Replay the batch's pieces, and run the code between them with a state."""
        if self._graph is not None:
            raise GraphError(f"{self.descriptor} is a single graph, which gets no state; leave out state=")
        token = CURRENT.set(ReplayingPass(self._pieces))
        try:
            with running_with(state), self._grad_mode():
                output = self._forward(Mode.PIECEWISE)
        finally:
            CURRENT.reset(token)
        return output if self._generation is None else self._generation.guard(output, str(self.descriptor))


class Captured(NamedTuple):
    """The result of capturing a batch."""

    batch: CapturedBatch
    states: StatePair
    pool: Any
    """The pool of the graphs; the first virtual graph creates it."""


def capture(
    descriptor: BatchDescriptor,
    make: Make,
    engine: Engine,
    pool: Any,
    inputs: StaticInputs,
    inspection: Inspection,
    manner: Manner = Manner(),
) -> Captured:
    """Warm up and capture a batch."""
    before = engine.used(pool)
    with ExitStack() as around:
        if inspection.watches:
            # Compiled kernels write memory without calling operators, so the inspection would miss the
            # writes.
            around.enter_context(compiled_graphs_shown())
        captured = _captured(descriptor, make, engine, pool, inputs, inspection, manner)
    captured.batch.nbytes = max(engine.used(captured.pool) - before, 0)
    return captured


def _captured(
    descriptor: BatchDescriptor,
    make: Make,
    engine: Engine,
    pool: Any,
    inputs: StaticInputs,
    inspection: Inspection,
    manner: Manner,
) -> Captured:
    phase = Phase.WARMUP
    try:
        warm = _warm_up(descriptor, make, inspection, manner)
        engine.synchronize()
        phase = Phase.CAPTURE
        with inspection.building(descriptor, phase), manner.grad_mode():
            forward, state = make(descriptor, phase)
        around = manner.around(descriptor)
        with around, inspection.capturing(forward, state), running_with(state), manner.grad_mode():
            if descriptor.mode is Mode.FULL:
                with manner.captures(engine, descriptor, pool) as graph:
                    output = forward(Mode.FULL)
                inspection.captured(graph)
                taken: tuple[Graph | None, list[CapturedPiece], Forward] = graph, [], forward
                pool = getattr(graph, "pool", pool) if pool is None else pool
                if manner.weak_outputs:
                    output = pytree.tree_map_only(torch.Tensor, lambda one: engine.weakly(graph, one), output)
            else:
                capture_piece = partial(manner.captures, engine, descriptor)
                capturing = CapturingPass(engine, pool, inspection.captured, capture_piece)
                output = _in_pieces(forward, capturing)
                taken = None, capturing.pieces, forward
                pool = capturing.pool
                if manner.weak_outputs:
                    output = None
                    for piece in capturing.pieces:
                        piece.hold_weakly(engine)
        engine.synchronize()
    except Exception as error:
        raise CaptureFailedError(descriptor, phase, error) from error
    return Captured(
        CapturedBatch(descriptor, state, inputs, taken, output, manner), StatePair(warm, state), pool
    )


def _warm_up(descriptor: BatchDescriptor, make: Make, inspection: Inspection, manner: Manner) -> Any:
    with inspection.building(descriptor, Phase.WARMUP), manner.grad_mode():
        forward, state = make(descriptor, Phase.WARMUP)
    before = times_compiled()
    with inspection.warming_up(forward, state), running_with(state), manner.grad_mode():
        for number in range(manner.warmups):
            with manner.around_warmup(descriptor, number):
                forward(Mode.NONE)
    if inspection.watches and times_compiled() != before:
        # Without the check's modes, torch does not reuse code that was compiled under them, so compile it
        # again.
        with manner.grad_mode():
            unwatched, other = make(descriptor, Phase.WARMUP)
            with running_with(other):
                unwatched(Mode.NONE)
    return state


def _in_pieces(forward: Forward, capturing: CapturingPass) -> Any:
    token = CURRENT.set(capturing)
    try:
        return forward(Mode.PIECEWISE)
    finally:
        CURRENT.reset(token)
