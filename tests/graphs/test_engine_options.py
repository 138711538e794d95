"""The parts of a manager that engines replace: warm-ups, what surrounds each, and the capturing context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    CaptureFailedError,
    GraphManager,
    LeakError,
    Mode,
    Phase,
    assert_replayable,
    piece,
)
from coldfork.virtual import capture

torch: Any = pytest.importorskip("torch")

FOUR = BatchDescriptor(Mode.FULL, 4)
PIECES = BatchDescriptor(Mode.PIECEWISE, 4)


class Engine:
    """Attention that plans on first use, the way in which it captures, and what happened in which order."""

    def __init__(self) -> None:
        self.x = torch.zeros(8)
        self.plan: Any = None
        self.events: list[str] = []
        self.pool: Any = None

    def inputs(self, descriptor: BatchDescriptor) -> dict[str, Any]:
        return {"x": self.x[: descriptor.tokens]}

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], None]:
        """One and the same function for both phases, as SGLang's runner has it."""
        x = self.x[: descriptor.tokens]

        def forward(mode: Mode) -> Any:
            self.events.append(phase.value)
            if self.plan is None:
                self.plan = x.cumsum(0)
            return x + self.plan

        return forward, None

    @contextmanager
    def capturing(self, descriptor: BatchDescriptor, pool: Any) -> Iterator[Any]:
        """The engine's own way to capture, in the pool that it has for this batch."""
        self.events.append(f"begin {descriptor.tokens}")
        with capture(self.pool) as graph:
            yield graph
        self.pool = graph.pool
        self.events.append(f"end {descriptor.tokens}")

    @contextmanager
    def warming_up(self, descriptor: BatchDescriptor, number: int) -> Iterator[None]:
        """All ranks wait for each other, and attention forgets what it planned."""
        self.events.append(f"barrier {number}")
        yield
        self.plan = None


def test_each_warm_up_is_surrounded_by_what_the_engine_does_around_it() -> None:
    engine = Engine()
    manager = GraphManager("cpu", warmups=2, around_warmup=engine.warming_up, check="error")
    manager.capture(engine.create, [FOUR], inputs=engine.inputs)
    assert engine.events == ["barrier 0", "warmup", "barrier 1", "warmup", "capture"]
    assert manager.replay(FOUR, x=torch.ones(4)).tolist() == [2, 3, 4, 5]


def test_what_no_hook_resets_after_the_warm_ups_is_a_leak() -> None:
    engine = Engine()
    manager = GraphManager("cpu", warmups=2, check="error")
    with pytest.raises(LeakError, match=r"self\.plan: None -> a tensor") as caught:
        manager.capture(engine.create, [FOUR], inputs=engine.inputs)
    (plan,) = (leak for leak in caught.value.report.leaks if leak.what == "self.plan")
    assert plan.origin is not None
    assert plan.origin.line == inspect.getsourcelines(Engine.create)[1] + 7


@pytest.mark.parametrize("warmups", [0, -1])
def test_a_capture_takes_a_warm_up(warmups: int) -> None:
    with pytest.raises(ValueError, match="warmups is at least 1"):
        GraphManager("cpu", warmups=warmups)


@pytest.mark.parametrize("batch", [FOUR, PIECES], ids=str)
def test_an_engine_captures_in_a_context_of_its_own(batch: BatchDescriptor) -> None:
    engine = Engine()
    twice = piece(lambda x: x * 2)
    later = BatchDescriptor(batch.mode, 2)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        x = engine.x[: descriptor.tokens]
        return (lambda mode: twice(x)), None

    manager = GraphManager("cpu", capturing=engine.capturing, check="error")
    manager.capture(create, [batch, later], inputs=engine.inputs)
    # In the copies in which the check captures once more, this process hears nothing.
    assert engine.events == ["begin 4", "end 4", "begin 2", "end 2"]
    assert engine.pool.graphs == 2
    assert manager.replay(batch, x=torch.ones(4)).tolist() == [2] * 4


def test_a_context_that_gives_no_graph_is_refused_as_a_failed_capture() -> None:
    @contextmanager
    def gives_nothing(descriptor: BatchDescriptor, pool: Any) -> Iterator[None]:
        yield

    manager = GraphManager("cpu", capturing=gives_nothing)  # type: ignore[arg-type]
    with pytest.raises(CaptureFailedError, match="capturing= gave None, which has no replay"):
        manager.capture(Engine().create, [FOUR])


def test_a_check_takes_the_options_of_the_engines_manager() -> None:
    engine = Engine()
    assert_replayable(
        engine.create,
        [FOUR],
        inputs=engine.inputs,
        warmups=2,
        around_warmup=engine.warming_up,
        capturing=engine.capturing,
    )
    other = Engine()
    with pytest.raises(AssertionError, match=r"self\.plan: None -> a tensor"):
        assert_replayable(other.create, [FOUR], inputs=other.inputs)
