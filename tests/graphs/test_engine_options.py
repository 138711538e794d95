"""The parts of a manager that engines replace: warm-ups, what surrounds each, and the capturing context."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
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
from coldfork.graphs.engines import CudaEngine
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


def test_an_engine_provides_a_scope_for_the_pool_of_each_capture() -> None:
    """As an allocator does whose memory is given back while the engine sleeps, and taken again."""
    engine = Engine()
    pools: dict[int, Any] = {}
    open_scopes: list[int] = []

    @contextmanager
    def in_a_pool_of_its_own(descriptor: BatchDescriptor, pool: Any) -> Iterator[Any]:
        open_scopes.append(descriptor.tokens)
        with capture() as graph:
            yield graph
        pools[descriptor.tokens] = graph.pool
        open_scopes.remove(descriptor.tokens)

    manager = GraphManager("cpu", capturing=in_a_pool_of_its_own, check="error")
    sizes = [FOUR, BatchDescriptor(Mode.FULL, 2)]
    manager.capture(
        lambda one, _: ((lambda mode: engine.x[: one.tokens] * 2), None), sizes, inputs=engine.inputs
    )
    assert open_scopes == []
    assert [pool.graphs for pool in pools.values()] == [1, 1]
    assert manager.pool is pools[4]
    assert manager.replay(FOUR, x=torch.ones(4)).tolist() == [2] * 4


def test_every_rank_is_warm_before_any_captures() -> None:
    """Two ranks, each a thread with a manager of its own, and a barrier after each warm-up."""
    ranks, events = 2, list[str]()
    barrier = threading.Barrier(ranks)
    alone = threading.Lock()  # a device captures one graph at a time

    @contextmanager
    def warming_up(descriptor: BatchDescriptor, number: int) -> Iterator[None]:
        yield
        events.append("warm")
        barrier.wait(60)

    @contextmanager
    def around(descriptor: BatchDescriptor) -> Iterator[None]:
        with alone:
            events.append("captures")
            yield

    def work() -> None:
        x = torch.zeros(4)
        manager = GraphManager("cpu", warmups=3, around_warmup=warming_up, around=around)
        manager.capture(lambda *_: ((lambda mode: x + 1), None), [FOUR], progress=False)

    threads = [threading.Thread(target=work) for _ in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events == ["warm"] * 3 * ranks + ["captures"] * ranks


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_the_error_mode_decides_whether_other_threads_may_work_meanwhile(mode: Any) -> None:
    x, counted = torch.zeros(4), torch.zeros(1)

    def loads_weights() -> None:
        counted.add_(1)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            with ThreadPoolExecutor(1) as loader:
                loader.submit(loads_weights).result()
            return x + 1

        return forward, None

    manager = GraphManager("cpu", capture_error_mode=mode)
    if mode == "global":
        with pytest.raises(CaptureFailedError, match="a thread other than the capturing one"):
            manager.capture(create, [FOUR])
        return
    manager.capture(create, [FOUR])
    manager.replay(FOUR)
    assert counted.tolist() == [2]  # not in the graph


def test_an_error_mode_that_does_not_exist_is_named() -> None:
    with pytest.raises(CaptureFailedError, match="error_mode is 'global', 'thread_local' or 'relaxed'"):
        GraphManager("cpu", capture_error_mode="local").capture(  # type: ignore[arg-type]
            Engine().create, [FOUR]
        )


class Stream:
    """A stream that notes what waits for what."""

    def __init__(self, name: str, events: list[str]) -> None:
        self.name = name
        self._events = events

    def used(self) -> None:
        self._events.append(f"on {self.name}")

    def wait_stream(self, other: Stream) -> None:
        self._events.append(f"{self.name} waits for {other.name}")


@pytest.mark.parametrize("each", [False, True])
def test_a_device_captures_a_batch_on_its_stream_in_the_error_mode(
    each: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calls that a device gets, because none is here."""
    events: list[str] = []
    graph = SimpleNamespace(
        capture_begin=lambda **options: events.append(f"begins {options['capture_error_mode']}"),
        capture_end=lambda: events.append("ends"),
    )
    cuda = torch.cuda
    monkeypatch.setattr(cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(cuda, "current_stream", lambda device: Stream("outside", events))
    monkeypatch.setattr(cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(cuda, "stream", lambda stream: nullcontext(stream.used()))
    stream = (lambda one: Stream(f"stream {one.tokens}", events)) if each else Stream("stream", events)
    own = "stream 4" if each else "stream"
    with CudaEngine(torch.device("cuda"), stream, "thread_local").capture("pool", FOUR) as begun:
        assert begun is graph
    assert events == [
        f"{own} waits for outside",
        f"on {own}",
        "begins thread_local",
        "ends",
        f"outside waits for {own}",
    ]


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
