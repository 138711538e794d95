"""Capturing one batch: warm up under one state, capture under a fresh one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coldfork.graphs.descriptors import BatchDescriptor, Forward, Mode, Phase, StatePair
from coldfork.graphs.engines import Engine, Graph
from coldfork.graphs.errors import CaptureFailedError
from coldfork.graphs.inputs import StaticInputs
from coldfork.graphs.leaks.inspection import Inspection
from coldfork.graphs.pieces import CURRENT, CapturedPiece, CapturingPass, ReplayingPass

Make = Callable[[BatchDescriptor, Phase], tuple[Forward, Any]]


class CapturedBatch:
    """One batch with its graph, or with the graphs of its pieces."""

    __slots__ = ("_forward", "_graph", "_pieces", "descriptor", "inputs", "output", "states")

    def __init__(
        self,
        descriptor: BatchDescriptor,
        states: StatePair,
        inputs: StaticInputs,
        captured: tuple[Graph | None, list[CapturedPiece], Forward],
        output: Any,
    ) -> None:
        self.descriptor = descriptor
        self.states = states
        self.inputs = inputs
        self._graph, self._pieces, self._forward = captured
        self.output = output

    def replay(self) -> Any:
        """Run it on what its input buffers hold."""
        if self._graph is not None:
            self._graph.replay()
            return self.output
        token = CURRENT.set(ReplayingPass(self._pieces))
        try:
            return self._forward(Mode.PIECEWISE)
        finally:
            CURRENT.reset(token)


def capture(
    descriptor: BatchDescriptor,
    make: Make,
    engine: Engine,
    pool: Any,
    inputs: StaticInputs,
    inspection: Inspection,
) -> tuple[CapturedBatch, Any]:
    """Warm up and capture a batch; returns the pool too, which a first virtual graph makes."""
    phase = Phase.WARMUP
    try:
        warm = _warm_up(descriptor, make, inspection)
        engine.synchronize()
        phase = Phase.CAPTURE
        with inspection.building(descriptor, phase):
            forward, state = make(descriptor, phase)
        with inspection.capturing(forward, state):
            if descriptor.mode is Mode.FULL:
                with engine.capture(pool) as graph:
                    output = forward(Mode.FULL)
                inspection.captured(graph)
                taken: tuple[Graph | None, list[CapturedPiece], Forward] = graph, [], forward
                pool = getattr(graph, "pool", pool) if pool is None else pool
            else:
                taken, output = _in_pieces(forward, engine, pool, inspection)
        engine.synchronize()
    except Exception as error:
        raise CaptureFailedError(descriptor, phase, error) from error
    return CapturedBatch(descriptor, StatePair(warm, state), inputs, taken, output), pool


def _warm_up(descriptor: BatchDescriptor, make: Make, inspection: Inspection) -> Any:
    with inspection.building(descriptor, Phase.WARMUP):
        forward, state = make(descriptor, Phase.WARMUP)
    with inspection.warming_up(forward, state):
        forward(Mode.NONE)
    return state


def _in_pieces(
    forward: Forward, engine: Engine, pool: Any, inspection: Inspection
) -> tuple[tuple[None, list[CapturedPiece], Forward], Any]:
    capturing = CapturingPass(engine, pool, inspection.captured)
    token = CURRENT.set(capturing)
    try:
        output = forward(Mode.PIECEWISE)
    finally:
        CURRENT.reset(token)
    return (None, capturing.pieces, forward), output
