"""An engine's own pool and context, memory, states of a step, and weak outputs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    GraphError,
    GraphManager,
    InputError,
    MemoryBudgetError,
    Mode,
    Phase,
    StaleOutputError,
    current_state,
    piece,
)
from coldfork.virtual import capture

torch: Any = pytest.importorskip("torch")

MOST = 64


class Metadata:
    """The facts about a step that attention needs."""

    def __init__(self, length: int) -> None:
        self.length = length


class Program:
    """A pass that needs memory on its way, and as much again for its result."""

    def __init__(self) -> None:
        self.x = torch.zeros(MOST)
        self.seen: list[Any] = []

    def inputs(self, descriptor: BatchDescriptor) -> dict[str, Any]:
        """Return the inputs of a replay."""
        return {"x": self.x[: descriptor.tokens]}

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], Metadata]:
        """Doubles, and adds one."""
        x = self.x[: descriptor.tokens]
        return (lambda mode: x * 2 + 1), Metadata(0)


def sizes(*tokens: int, mode: Mode = Mode.FULL) -> list[BatchDescriptor]:
    """Descriptors of some batches."""
    return [BatchDescriptor(mode, one) for one in tokens]


# --- the state of a step ----------------------------------------------------------------------------------


def test_code_between_pieces_sees_the_state_of_this_step() -> None:
    program = Program()
    double = piece(lambda x: x * 2)
    finish = piece(lambda x: x + 1)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        x = program.x[: descriptor.tokens]

        def forward(mode: Mode) -> Any:
            hidden = double(x)
            length = current_state().length
            program.seen.append(length)
            mask = torch.zeros_like(hidden)
            mask[:length] = 1
            return finish(hidden * mask)

        return forward, Metadata(1 if phase is Phase.WARMUP else 2)

    manager = GraphManager("cpu")
    (batch,) = sizes(4, mode=Mode.PIECEWISE)
    manager.capture(create, [batch], inputs=program.inputs)
    assert program.seen == [1, 2]
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert manager.replay(batch, x=x).tolist() == [3, 5, 1, 1]
    assert manager.replay(batch, state=Metadata(3), x=x).tolist() == [3, 5, 7, 1]
    assert manager.replay(batch, state=Metadata(1), x=x * 2).tolist() == [5, 1, 1, 1]
    with pytest.raises(GraphError, match="no forward pass of a graph manager is running"):
        current_state()


def test_a_whole_graph_takes_no_state() -> None:
    program = Program()
    manager = GraphManager("cpu")
    (batch,) = sizes(4)
    manager.capture(program.create, [batch], inputs=program.inputs)
    with pytest.raises(GraphError, match="FULL tokens=4 is a single graph, which gets no state"):
        manager.replay(batch, state=Metadata(1))


# --- the caller's own -------------------------------------------------------------------------------------


def test_what_surrounds_a_capture_is_the_callers() -> None:
    program = Program()
    events: list[str] = []

    @contextmanager
    def around(descriptor: BatchDescriptor) -> Iterator[None]:
        events.append(f"before {descriptor.tokens}")
        yield
        events.append(f"after {descriptor.tokens}")

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            events.append(phase.value)
            return program.x[: descriptor.tokens] + 1

        return forward, None

    GraphManager("cpu", around=around).capture(create, sizes(4, 8))
    assert events == ["warmup", "before 8", "capture", "after 8", "warmup", "before 4", "capture", "after 4"]


def test_graphs_of_a_manager_share_the_pool_that_it_is_given() -> None:
    program = Program()
    with capture() as mine:
        program.x.add(1)
    manager = GraphManager("cpu", mine.pool)
    manager.capture(program.create, sizes(MOST), inputs=program.inputs)
    assert mine.pool.graphs == 2


def test_a_stream_is_a_devices() -> None:
    with pytest.raises(ValueError, match="virtual captures have no streams"):
        GraphManager("cpu", stream=torch.Stream())


def test_forward_functions_run_without_autograd_unless_asked() -> None:
    weight = torch.nn.Parameter(torch.ones(4))
    seen: list[bool] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            seen.append(torch.is_grad_enabled())
            return weight * 2

        return forward, None

    manager = GraphManager("cpu")
    manager.capture(create, sizes(4))
    assert seen == [False, False]
    assert not manager.replay(*sizes(4)).requires_grad
    GraphManager("cpu", grad_mode=nullcontext).capture(create, sizes(4))
    assert seen[2:] == [True, True]


def test_an_input_that_needs_gradients_leaves_the_buffers_without() -> None:
    program = Program()
    manager = GraphManager("cpu")
    (batch,) = sizes(4)
    manager.capture(program.create, [batch], inputs=program.inputs)
    assert manager.replay(batch, x=torch.ones(4, requires_grad=True)).tolist() == [3] * 4
    assert not program.x.requires_grad


# --- memory -----------------------------------------------------------------------------------------------


def test_the_memory_of_each_graph_is_told_and_kept_within_a_budget() -> None:
    program = Program()
    manager = GraphManager("cpu")
    manager.capture(program.create, sizes(64, 32, 16))
    assert list(manager.memory) == sizes(64, 32, 16)
    used = sum(manager.memory.values())
    assert all(manager.memory.values())
    assert used == 2 * 4 * (64 + 32 + 16)

    tight = GraphManager("cpu")
    with pytest.raises(MemoryBudgetError, match=r"with FULL tokens=16 the graphs take .*; 2 larger ones fit"):
        tight.capture(program.create, sizes(64, 32, 16), memory_budget=used - 1)
    assert tight.descriptors == ()
    tight.capture(program.create, sizes(64, 32, 16), memory_budget=used - 1, on_failure="keep")
    assert tight.descriptors == tuple(sizes(64, 32))
    assert list(tight.failed) == sizes(16)


def test_an_estimate_captures_three_and_keeps_none() -> None:
    program = Program()
    made: list[int] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        made.append(descriptor.tokens)
        return program.create(descriptor, phase)

    wanted = sizes(*range(4, MOST + 1, 4))
    manager = GraphManager("cpu")
    estimate = manager.estimate(create, wanted)
    assert sorted(set(made)) == [4, 60, 64]
    assert manager.descriptors == ()
    manager.capture(program.create, wanted)
    assert estimate == sum(manager.memory.values())


def test_the_state_of_a_warm_up_is_gone_once_nobody_keeps_its_pair() -> None:
    program = Program()
    warm: list[weakref.ref[Metadata]] = []
    captured: list[weakref.ref[Metadata]] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        forward, state = program.create(descriptor, phase)
        (warm if phase is Phase.WARMUP else captured).append(weakref.ref(state))
        return forward, state

    manager = GraphManager("cpu")
    pairs = manager.capture(create, sizes(4, 8))
    assert all(one() is not None for one in warm)
    del pairs
    gc.collect()
    assert [one() for one in warm] == [None, None]
    assert all(one() is not None for one in captured)


def test_outputs_that_are_held_weakly_leave_their_memory_to_other_graphs() -> None:
    program = Program()
    same = [BatchDescriptor(Mode.FULL, MOST, requests) for requests in (1, 2)]

    def after_both(weak: bool) -> tuple[int, list[float], list[float]]:
        manager = GraphManager("cpu", weak_outputs=weak)
        manager.capture(program.create, same, inputs=program.inputs)
        first = manager.replay(same[0], x=torch.ones(MOST))
        mine = first.tolist()[:1]
        manager.replay(same[1], x=torch.full((MOST,), 5.0))
        return sum(manager.memory.values()), mine, first.tolist()[:1]

    strong, weak = after_both(False), after_both(True)
    assert strong[1:] == ([3.0], [3.0])
    assert weak[1:] == ([3.0], [11.0])
    assert weak[0] < strong[0]


def test_a_managers_own_pool_begins_anew_when_its_last_graph_is_gone() -> None:
    program = Program()
    manager = GraphManager("cpu")
    for _ in range(2):
        manager.capture(program.create, sizes(4), inputs=program.inputs)
        assert manager.replay(*sizes(4), x=torch.ones(4)).tolist() == [3] * 4
        manager.release()


# --- outputs and inputs that are no longer what they were ---------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.PIECEWISE])
def test_a_guarded_output_says_that_it_was_overwritten(mode: Mode) -> None:
    program = Program()
    work = piece(lambda x: x * 2 + 1)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        x = program.x[: descriptor.tokens]
        return (lambda mode: {"y": work(x)}), None

    manager = GraphManager("cpu", guard_outputs=True)
    (batch,) = sizes(4, mode=mode)
    manager.capture(create, [batch], inputs=program.inputs)
    first = manager.replay(batch, x=torch.ones(4))["y"]
    row, copy = first[:2], first.clone()
    assert (first + 1).tolist() == [4] * 4
    second = manager.replay(batch, x=torch.zeros(4))["y"]
    for stale in (first, row):
        with pytest.raises(StaleOutputError, match="was overwritten: 1 more replays have run on its memory"):
            stale + 1
    with pytest.raises(StaleOutputError):
        torch.cat([second, first])
    assert copy.tolist() == [3] * 4
    assert second.tolist() == [1] * 4


def test_outputs_that_share_memory_are_guarded_together() -> None:
    program = Program()
    manager = GraphManager("cpu", guard_outputs=True, weak_outputs=True)
    large, small = sizes(8, 4)
    manager.capture(program.create, [large, small], inputs=program.inputs)
    first = manager.replay(large)
    manager.replay(small)
    with pytest.raises(StaleOutputError):
        first.sum()


@pytest.mark.parametrize("moved", ["ignore", "error", "record"])
def test_inputs_that_moved(moved: Any) -> None:
    program = Program()
    manager = GraphManager("cpu", moved=moved)
    (batch,) = sizes(4)
    manager.capture(program.create, [batch], inputs=program.inputs)
    program.x.fill_(1)
    kept = program.x
    assert manager.replay(batch).tolist() == [3] * 4
    program.x = torch.full((MOST,), 5.0)
    if moved == "error":
        with pytest.raises(InputError, match="x of FULL tokens=4 moved in memory after the capture"):
            manager.replay(batch)
        return
    assert manager.replay(batch).tolist() == ([11] * 4 if moved == "record" else [3] * 4)
    assert kept[0] == 1
    assert manager.buffers(batch)["x"].data_ptr() == (program.x if moved == "record" else kept).data_ptr()


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="moved is 'ignore', 'error' or 'record', not 'never'"):
        GraphManager("cpu", moved="never")  # type: ignore[arg-type]


def test_a_second_manager_captures_in_the_pool_of_the_first() -> None:
    x = torch.zeros(4)
    first = GraphManager("cpu")
    first.capture(lambda *_: ((lambda mode: x + 1), None), [BatchDescriptor(Mode.FULL, 4)])
    second = GraphManager("cpu", first.pool)
    second.capture(lambda *_: ((lambda mode: x * 2), None), [BatchDescriptor(Mode.FULL, 4)])
    assert second.pool is first.pool is not None


def test_a_module_is_captured_with_its_gradients() -> None:
    module, x = torch.nn.Linear(4, 2), torch.zeros(3, 4, requires_grad=True)
    leaves = [x, *module.parameters()]

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: torch.autograd.grad(module(x).tanh().sum(), leaves)), None

    manager = GraphManager("cpu", grad_mode=nullcontext, check="error")
    batch = BatchDescriptor(Mode.FULL, 3)
    manager.capture(create, [batch], inputs=lambda one: {"x": x}, progress=False)
    given = torch.randn(3, 4)
    replayed = manager.replay(batch, x=given)
    wanted = torch.autograd.grad(module(given.requires_grad_()).tanh().sum(), [given, *module.parameters()])
    for mine, other in zip(replayed, wanted, strict=True):
        torch.testing.assert_close(mine, other)
