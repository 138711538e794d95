"""The manager: order, failures, dispatch, inputs, pieces, and wrong use that leaves it usable."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from coldfork import virtual
from coldfork.graphs import (
    BatchDescriptor,
    BusyError,
    CaptureFailedError,
    DeviceLostError,
    GraphError,
    GraphManager,
    InputError,
    LeakWarning,
    Mode,
    NotCapturedError,
    Phase,
    piece,
)
from tests.graphs.engine import FULL, Engine, batch, torch

Forward = Callable[[Mode], Any]


def doubling(x: Any, seen: list[Any] | None = None) -> Any:
    """Makes forward functions that double what is in `x`, and notes how it was called."""

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            if seen is not None:
                seen.append((descriptor.tokens, phase, mode))
            return x[: descriptor.tokens] * 2

        return forward, {"phase": phase}

    return create


def sizes(*tokens: int, mode: Mode = Mode.FULL) -> list[BatchDescriptor]:
    return [BatchDescriptor(mode, one) for one in tokens]


def test_the_largest_is_first_and_each_phase_has_its_state() -> None:
    seen: list[Any] = []
    x = torch.ones(8)
    pairs = GraphManager("cpu").capture(doubling(x, seen), sizes(2, 8, 4))
    assert seen == [
        (tokens, phase, mode)
        for tokens in (8, 4, 2)
        for phase, mode in ((Phase.WARMUP, Mode.NONE), (Phase.CAPTURE, Mode.FULL))
    ]
    assert all(pair.warmup == {"phase": Phase.WARMUP} for pair in pairs.values())
    assert all(pair.capture == {"phase": Phase.CAPTURE} for pair in pairs.values())


def test_inputs_are_copied_and_what_does_not_fit_is_refused() -> None:
    x = torch.zeros(4)
    (descriptor,) = sizes(4)
    manager = GraphManager("cpu")
    manager.capture(doubling(x), [descriptor], inputs=lambda one: {"x": x})
    assert manager.replay(descriptor, x=torch.arange(4.0)).tolist() == [0.0, 2.0, 4.0, 6.0]
    manager.buffers(descriptor)["x"].fill_(5)
    assert manager.replay(descriptor).tolist() == [10.0] * 4
    for wrong, words in (
        (torch.zeros(3), r"was captured as \(4,\) of torch.float32 on cpu, and this one is \(3,\)"),
        (torch.zeros(4, dtype=torch.float64), "and this one is .* of torch.float64"),
        (torch.zeros(4, device="meta"), "on meta"),
    ):
        with pytest.raises(InputError, match=words):
            manager.replay(descriptor, x=wrong)
    with pytest.raises(InputError, match="without an input 'y'; its inputs: x"):
        manager.replay(descriptor, y=x)
    assert x.tolist() == [5.0] * 4


@dataclass(frozen=True)
class WithAdapters(BatchDescriptor):
    adapters: int = 0


def test_dispatch_pads_up_to_the_next_captured_size() -> None:
    x = torch.ones(16)
    manager = GraphManager("cpu")
    manager.capture(doubling(x), sizes(4, 16))
    manager.capture(doubling(x), [WithAdapters(Mode.FULL, 8, adapters=1)])
    full = BatchDescriptor(Mode.FULL, 3, requests=2)
    assert manager.dispatch(full) == BatchDescriptor(Mode.FULL, 4)
    assert manager.dispatch(BatchDescriptor(Mode.FULL, 5)) == BatchDescriptor(Mode.FULL, 16)
    assert manager.dispatch(BatchDescriptor(Mode.FULL, 17)) is None
    assert manager.dispatch(BatchDescriptor(Mode.PIECEWISE, 3)) is None
    assert manager.dispatch(WithAdapters(Mode.FULL, 2, adapters=1)) == WithAdapters(Mode.FULL, 8, adapters=1)
    assert manager.dispatch(WithAdapters(Mode.FULL, 2, adapters=2)) is None


def failing(x: Any, where: Phase, tokens: int) -> Any:
    """Fails for one size, in one phase."""

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            if phase is where and descriptor.tokens == tokens:
                raise KeyError("no such layer")
            return x[: descriptor.tokens] + 1

        return forward, None

    return create


@pytest.mark.parametrize("where", list(Phase))
def test_a_failure_is_named_and_the_others_are_kept_or_rolled_back_as_asked(where: Phase) -> None:
    x = torch.zeros(8)
    manager = GraphManager("cpu")
    doing = "warming up" if where is Phase.WARMUP else "capturing"
    with pytest.raises(CaptureFailedError, match=f"{doing} FULL tokens=4 failed: KeyError") as failure:
        manager.capture(failing(x, where, 4), sizes(8, 4, 2))
    assert isinstance(failure.value.__cause__, KeyError)
    assert manager.descriptors == ()
    kept = manager.capture(failing(x, where, 4), sizes(8, 4, 2), on_failure="keep")
    assert list(kept) == sizes(8, 2)
    assert list(manager.failed) == sizes(4)
    assert manager.replay(sizes(2)[0]).tolist() == [1.0, 1.0]
    assert manager.dispatch(sizes(4)[0]) == sizes(8)[0]


def test_progress_is_told_before_each_and_at_the_end() -> None:
    told: list[Any] = []
    GraphManager("cpu").capture(
        doubling(torch.ones(4)),
        sizes(2, 4),
        progress=lambda *args: told.append((args[0], args[1], str(args[2]))),
    )
    assert told == [(0, 2, "FULL tokens=4"), (1, 2, "FULL tokens=2"), (2, 2, "None")]


def test_nothing_is_collected_during_a_capture() -> None:
    collected: list[str] = []
    collections = lambda phase, info: collected.append(phase)  # noqa: E731

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            if mode is Mode.FULL:
                gc.callbacks.append(collections)
                waste: list[list[int]] = [[] for _ in range(20_000)]
                waste.clear()
                gc.callbacks.remove(collections)
            return torch.ones(2) + 1

        return forward, None

    GraphManager("cpu").capture(create, sizes(2))
    assert collected == []
    assert gc.isenabled()


@pytest.mark.parametrize("by_program", [False, True])
def test_what_was_there_before_is_frozen_during_a_capture(by_program: bool) -> None:
    frozen: list[bool] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        frozen.append(bool(gc.get_freeze_count()))
        return (lambda mode: torch.ones(2) + 1), None

    before = gc.get_freeze_count()
    gc.unfreeze()
    try:
        if by_program:
            gc.freeze()
        GraphManager("cpu").capture(create, sizes(2))
        assert frozen == [True, True]
        assert bool(gc.get_freeze_count()) is by_program
    finally:
        gc.unfreeze()
        if before:
            gc.freeze()


def test_wrong_use_is_refused_and_the_manager_stays_usable() -> None:
    x = torch.ones(4)
    manager = GraphManager("cpu")
    (four,) = sizes(4)
    with pytest.raises(NotCapturedError, match="captured: nothing yet"):
        manager.replay(four)
    with pytest.raises(GraphError, match="runs eagerly"):
        manager.capture(doubling(x), [BatchDescriptor(Mode.NONE, 4)])
    manager.capture(doubling(x), [four])
    with pytest.raises(GraphError, match=r"captured already; release\(\) it first"):
        manager.capture(doubling(x), [four])
    with pytest.raises(NotCapturedError, match=r"FULL tokens=2 \(captured: FULL tokens=4\)"):
        manager.replay(sizes(2)[0])
    manager.release(four)
    manager.capture(doubling(x), [four])
    assert manager.replay(four).tolist() == [2.0] * 4
    with pytest.raises(ValueError, match="'error', 'warn' or 'off'"):
        GraphManager("cpu", check="maybe")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not on meta"):
        GraphManager("meta")


def test_a_capture_inside_a_capture_and_a_replay_inside_one_are_refused() -> None:
    x = torch.ones(4)
    manager = GraphManager("cpu")
    (four,) = sizes(4)

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            if mode is Mode.FULL:
                manager.capture(doubling(x), sizes(2))
            return x * 2

        return forward, None

    with pytest.raises(CaptureFailedError) as failure:
        manager.capture(create, [four])
    assert isinstance(failure.value.__cause__, BusyError)
    with virtual.capture(), pytest.raises(CaptureFailedError):
        GraphManager("cpu").capture(doubling(x), sizes(2))
    manager.capture(doubling(x), [four])
    assert manager.replay(four).tolist() == [2.0] * 4


def test_another_thread_is_told_to_wait() -> None:
    x = torch.ones(4)
    manager = GraphManager("cpu")
    inside, go_on = threading.Event(), threading.Event()

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            inside.set()
            assert go_on.wait(30)
            return x * 2

        return forward, None

    thread = threading.Thread(target=manager.capture, args=(create, sizes(4)))
    thread.start()
    assert inside.wait(30)
    with pytest.raises(BusyError, match="is capturing already"):
        manager.capture(doubling(x), sizes(2))
    go_on.set()
    thread.join()
    assert manager.replay(sizes(4)[0]).tolist() == [2.0] * 4


def test_a_lost_device_ends_the_manager_and_it_says_so_from_then_on() -> None:
    x = torch.ones(4)
    manager = GraphManager("cpu")
    manager.capture(doubling(x), sizes(4))

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nmore")

        return forward, None

    with pytest.raises(CaptureFailedError, match="illegal memory access"):
        manager.capture(create, sizes(2))
    for use in (lambda: manager.replay(sizes(4)[0]), lambda: manager.capture(doubling(x), sizes(2))):
        with pytest.raises(DeviceLostError, match=r"was lost .CUDA error: an illegal memory access"):
            use()


class Layers:
    """Two captured parts with eager attention between them."""

    def __init__(self) -> None:
        self.x = torch.zeros(4)
        self.eager_runs = 0
        self.before = piece(lambda hidden: hidden * 3)
        self.after = piece(lambda hidden, scale: hidden * scale + 1)

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        def forward(mode: Mode) -> Any:
            hidden = self.before(self.x)
            self.eager_runs += 1
            hidden = torch.tensor(sorted(hidden.tolist()))  # what no graph can hold
            return self.after(hidden, 2.0)

        return forward, None


def test_pieces_are_captured_and_what_lies_between_runs_eagerly() -> None:
    layers = Layers()
    (descriptor,) = sizes(4, mode=Mode.PIECEWISE)
    manager = GraphManager("cpu")
    manager.capture(layers.create, [descriptor], inputs=lambda one: {"x": layers.x})
    for values in ([3.0, 1.0, 2.0, 0.0], [9.0, 8.0, 7.0, 6.0]):
        runs = layers.eager_runs
        output = manager.replay(descriptor, x=torch.tensor(values))
        assert output.tolist() == [value * 3 * 2 + 1 for value in sorted(values)]
        assert layers.eager_runs == runs + 1
    layers.before, layers.after = layers.after, layers.before
    with pytest.raises(GraphError, match="in the order in which this batch was captured"):
        manager.replay(descriptor)


def test_a_leak_can_be_warned_of_only() -> None:
    engine = Engine()
    manager = GraphManager("cpu", check="warn")
    with pytest.warns(LeakWarning, match="tile_scheduler.initialised: False -> True"):
        manager.capture(engine.create_once(), [FULL], inputs=engine.inputs)
    assert manager.descriptors == (FULL,)
    x, lengths = batch(3)
    assert manager.replay(FULL, x=x, lengths=lengths).shape == x.shape


def test_classes_and_functions_in_a_state_are_no_tensors() -> None:
    x = torch.ones(4)

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        return (lambda mode: x * 2), {"kind": torch.Tensor, "function": torch.ones, "module": torch}

    manager = GraphManager("cpu", check="error")
    manager.capture(create, sizes(4))
    assert manager.replay(sizes(4)[0]).tolist() == [2.0] * 4


class Holding:
    """An engine that holds its manager, as engines do."""

    def __init__(self) -> None:
        self.x = torch.ones(4)
        self.manager = GraphManager("cpu", check="error")

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        return (lambda mode: self.x[: descriptor.tokens] * 2), None


def test_a_manager_that_the_forward_function_can_reach_is_no_side_effect() -> None:
    engine = Holding()
    engine.manager.capture(engine.create, sizes(4, 2, 1))
    assert engine.manager.replay(sizes(2)[0]).tolist() == [2.0] * 2


def test_nothing_is_imported_before_it_is_used_and_the_compiler_never() -> None:
    program = (
        "import sys, coldfork.graphs as graphs\n"
        "print('the package:', 'torch' in sys.modules)\n"
        "import torch\n"
        "x = torch.ones(4)\n"
        "d = graphs.BatchDescriptor(graphs.Mode.FULL, 4)\n"
        "def capture(check):\n"
        "    m = graphs.GraphManager('cpu', check=check)\n"
        "    m.capture(lambda d, p: ((lambda mode: x * 2), None), [d], inputs=lambda d: {'x': x})\n"
        "    assert m.replay(d, x=x).tolist() == [2.0] * 4\n"
        "parts = 'trials', 'checking', 'leaks.inspection', 'leaks.operator_watch', 'leaks.memory'\n"
        "capture('off')\n"
        "print('no check:', [one for one in parts if 'coldfork.graphs.' + one in sys.modules])\n"
        "capture('error')\n"
        "print('a check:', 'torch._dynamo' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.splitlines() == ["the package: False", "no check: []", "a check: False"], done.stderr
