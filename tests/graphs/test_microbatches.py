"""Microbatches in turns on threads of their own: in warm-ups, captures, replays and checks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    CaptureFailedError,
    GraphError,
    GraphManager,
    Microbatches,
    Mode,
    Phase,
    check,
    current_state,
)
from coldfork.virtual import capture
from tests.graphs.engine import torch

BATCH = BatchDescriptor(Mode.FULL, 4, microbatches=2)


class Attention:
    """Plans on first use, and lets the other half go on in between, as an all-to-all would."""

    def __init__(self, halves: Microbatches) -> None:
        self.halves = halves
        self.order: list[str] = []
        self.weight = torch.full((1,), 3.0)

    def run(self, name: str, x: Any, plans: dict[str, Any]) -> Any:
        for layer in range(2):
            self.order.append(f"{name}{layer}")
            if name not in plans:
                plans[name] = x.cumsum(0)
            x = x * self.weight + plans[name]
            self.halves.switch()
        return x


class Engine:
    """A batch in two halves."""

    def __init__(self) -> None:
        self.halves = Microbatches(2)
        self.attention = Attention(self.halves)
        self.x = torch.zeros(4)
        self.kept: dict[str, Any] = {}

    def create(
        self, descriptor: BatchDescriptor, phase: Phase
    ) -> tuple[Callable[[Mode], Any], dict[str, Any]]:
        plans: dict[str, Any] = {}
        return (lambda mode: self.forward(plans)), plans

    def create_shared(self, descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: self.forward(self.kept)), self.kept

    def forward(self, plans: dict[str, Any]) -> Any:
        first, second = self.x.chunk(2)
        run = self.attention.run
        return torch.cat(self.halves.run(lambda: run("a", first, plans), lambda: run("b", second, plans)))

    def inputs(self, descriptor: BatchDescriptor) -> dict[str, Any]:
        return {"x": self.x}


def test_halves_take_turns_on_threads_that_live_on() -> None:
    engine, seen = Engine(), list[int]()
    for _ in range(2):
        results = engine.halves.run(*[lambda: seen.append(threading.get_ident())] * 2)
        assert results == [None, None]
        engine.forward({})
    assert engine.attention.order == ["a0", "b0", "a1", "b1"] * 2
    assert seen[:2] == seen[2:]
    assert len({*seen, threading.get_ident()}) == 3


def test_a_captured_batch_replays_as_it_runs_eagerly_and_in_the_same_order() -> None:
    engine = Engine()
    manager = GraphManager("cpu", check="error", warmups=2)
    manager.capture(engine.create, [BATCH], inputs=engine.inputs)
    given = torch.tensor([1.0, 2.0, 3.0, 4.0])
    replayed = manager.replay(BATCH, x=given).clone()
    engine.x.copy_(given)
    assert torch.equal(replayed, engine.forward({}))
    assert replayed.tolist() == [13, 30, 39, 64]


def test_a_plan_that_is_kept_from_the_warm_up_is_a_leak_at_its_line() -> None:
    engine = Engine()
    report = check(engine.create_shared, [BATCH], inputs=[engine.x])
    assert report.answer == "leaks"
    assert "Attention.run" in str(report)
    memory = next(leak for leak in report.leaks if leak.kind.value == "memory")
    assert memory.origin is not None
    assert memory.origin.function == "Attention.run"


def test_a_half_is_captured_as_the_whole_would_be() -> None:
    halves, x = Microbatches(2), torch.ones(2)
    with capture() as graph, torch.no_grad():
        assert halves.run(torch.is_grad_enabled, torch.cuda.is_current_stream_capturing) == [False, True]
        first, second = halves.run(lambda: x + 1, lambda: x * 4)
    x.fill_(5)
    graph.replay()
    assert (first.tolist(), second.tolist()) == ([6, 6], [20, 20])
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"), capture():
        halves.run(lambda: x.sum().item(), lambda: None)
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"), capture():
        halves.run(x.tolist, lambda: None)
    assert halves.run(x.tolist, lambda: 1) == [[5, 5], 1]


def test_the_state_and_the_modes_of_the_caller_are_those_of_each_half() -> None:
    halves, seen = Microbatches(2), list[Any]()

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def half() -> None:
            seen.append(
                (current_state(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"))
            )

        def forward(mode: Mode) -> None:
            with torch.autocast("cpu", torch.bfloat16):
                halves.run(half, half)

        return forward, phase.value

    GraphManager("cpu", grad_mode=torch.inference_mode).capture(create, [BATCH])
    assert seen == [("warmup", True, True)] * 2 + [("capture", True, True)] * 2


def test_an_error_ends_the_other_half_and_leaves_the_threads_usable() -> None:
    halves, ended = Microbatches(2), list[str]()

    def waits() -> None:
        try:
            halves.switch()
        finally:
            ended.append("waits")

    def fails() -> None:
        raise ZeroDivisionError("the second half")

    with pytest.raises(ZeroDivisionError, match="the second half"):
        halves.run(waits, fails)
    assert ended == ["waits"]
    with pytest.raises(ZeroDivisionError):
        halves.run(fails, lambda: ended.append("never begins"))
    assert ended == ["waits"]
    assert halves.run(lambda: 1, lambda: 2) == [1, 2]
    manager = GraphManager("cpu")
    with pytest.raises(CaptureFailedError, match="the second half"):
        manager.capture(lambda *_: ((lambda mode: halves.run(waits, fails)), None), [BATCH])


def test_wrong_use_is_refused() -> None:
    halves = Microbatches(2)
    halves.switch()  # nothing is divided here
    with pytest.raises(ValueError, match="at least 2, not 1"):
        Microbatches(1)
    with pytest.raises(GraphError, match="3 microbatches for 2 threads"):
        halves.run(*[lambda: None] * 3)
    with pytest.raises(GraphError, match="running already"):
        halves.run(lambda: halves.run(lambda: 1), lambda: 2)


def test_threads_end_with_what_they_were_started_for() -> None:
    ended = threading.Event()

    class Local(threading.local):
        held: Any = None

    class Last:
        def __del__(self) -> None:
            ended.set()

    halves, local = Microbatches(2), Local()
    halves.run(lambda: setattr(local, "held", Last()))
    assert not ended.is_set()
    del halves
    assert ended.wait(60)
