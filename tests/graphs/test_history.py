"""Three bugs of vLLM's graphs, rebuilt: wrong where state is shared, named by the check, right here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coldfork import virtual
from coldfork.graphs import BatchDescriptor, GraphManager, LeakError, LeakKind, Mode, Phase, check
from tests.graphs.engine import FULL, Engine, Speculator, batch, line_of, torch

Forward = Callable[[Mode], Any]


def naive(forward: Forward) -> tuple[Any, Any]:
    """Do what engines did: warm up, and capture the same thing again."""
    forward(Mode.NONE)
    with virtual.capture() as graph:
        output = forward(Mode.FULL)
    return graph, output


@pytest.mark.must_hold
def test_42444_a_flag_in_the_metadata_keeps_the_planning_kernel_out_of_the_graph() -> None:
    engine = Engine()
    state = engine.build()
    graph, output = naive(lambda mode: engine.forward(state))
    x, lengths = batch(1)
    engine.x.copy_(x)
    engine.lengths.copy_(lengths)
    engine.use_scratch_otherwise()
    graph.replay()
    assert output.isnan().all()

    report = check(Engine().create_once(), [FULL])
    flag = next(leak for leak in report.leaks if leak.what.endswith("initialised"))
    assert str(flag).startswith(
        "[state] attn_metadata['layer.0'].tile_scheduler.initialised: False -> True, shared with capture"
    )
    assert flag.origin is not None
    assert flag.origin.line == line_of(Engine.attend, "tiles.initialised = True")
    memory = next(leak for leak in report.leaks if leak.kind is LeakKind.MEMORY)
    assert memory.where is not None
    assert memory.where.line == line_of(Engine.attend, "return hidden")
    assert memory.origin is not None
    assert memory.origin.line == line_of(Engine.attend, "torch.cumsum")

    ours = Engine()
    manager = GraphManager("cpu", check="error")
    manager.capture(ours.create, [FULL], inputs=ours.inputs)
    ours.use_scratch_otherwise()
    replayed = manager.replay(FULL, x=x, lengths=lengths).clone()
    assert torch.equal(replayed, Engine().eager(x, lengths))


@pytest.mark.must_hold
def test_44253_a_speculator_captures_on_the_state_that_the_target_warmed_up() -> None:
    engine = Engine()
    speculator = Speculator(engine)
    manager = GraphManager("cpu")
    pairs = manager.capture(engine.create, [FULL], inputs=engine.inputs)
    # The mistake: the target's warmed-up metadata for both phases of the prefill.
    forward, _ = speculator.create(FULL, Phase.CAPTURE, pairs[FULL].warmup)
    graph, output = naive(forward)
    engine.use_scratch_otherwise()
    graph.replay()
    assert output.isnan().all()

    def shares(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        return speculator.create(descriptor, phase, warmed)

    warmed = engine.build()
    report = check(shares, [FULL])
    assert {leak.kind for leak in report.leaks} == {LeakKind.STATE, LeakKind.MEMORY}
    assert any("tile_scheduler.initialised: False -> True" in leak.message for leak in report.leaks)

    ours = Engine()
    target, draft = GraphManager("cpu"), GraphManager("cpu", check="error")
    states = target.capture(ours.create, [FULL], inputs=ours.inputs)
    draft.capture(Speculator(ours).create, [FULL], inputs=ours.inputs, states=states)
    x, lengths = batch(2)
    ours.use_scratch_otherwise()
    target.replay(FULL, x=x, lengths=lengths)
    drafted = draft.replay(FULL)
    assert torch.equal(drafted, (x - 1) * 2 + lengths.cumsum(0))


class Builder:
    """Builds metadata in buffers that it keeps, so that graphs always find them at the same place."""

    def __init__(self) -> None:
        self.x = torch.zeros(4)
        self.first = torch.zeros((), dtype=torch.int64)
        self.slots = torch.zeros(4, dtype=torch.int64)

    def build(self, first: int) -> Any:
        """The slots of a batch, written over those of the one before."""
        self.first.fill_(first)
        return self.build_scheduled()

    def build_scheduled(self) -> Any:
        """The slots of the batch that was scheduled."""
        self.slots.copy_(self.first + torch.arange(4))
        return self.slots

    def forward(self, slots: Any) -> Any:
        """Use them."""
        return self.x + slots


@pytest.mark.must_hold
def test_48261_buffers_that_were_built_for_the_warm_up_are_stale_in_the_capture() -> None:
    builder = Builder()
    slots = builder.build(100)
    graph, output = naive(lambda mode: builder.forward(slots))
    builder.x.fill_(1.0)
    graph.replay()
    # A replay for the slots from 0 on answers for those that the warm-up was built for.
    assert output.tolist() == [101.0, 102.0, 103.0, 104.0]

    descriptor = BatchDescriptor(Mode.FULL, 4)
    stale = Builder()
    kept: list[Any] = []

    def builds_once(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        if not kept:
            kept.append(stale.build_scheduled())
        return (lambda mode: stale.forward(kept[0])), kept[0]

    report = check(builds_once, [descriptor])
    (leak,) = (leak for leak in report.leaks if leak.kind is LeakKind.MEMORY)
    assert leak.origin is not None
    assert leak.origin.line == line_of(Builder.build_scheduled, "self.slots.copy_")
    assert leak.where is not None
    assert leak.where.line == line_of(Builder.forward, "return self.x + slots")
    kept.clear()
    with pytest.raises(LeakError, match="reads what aten::copy_ wrote in the build warm-up"):
        GraphManager("cpu", check="error").capture(builds_once, [descriptor])

    fresh = Builder()

    def builds_each_time(descriptor: BatchDescriptor, phase: Phase) -> tuple[Forward, Any]:
        slots = fresh.build(0 if phase is Phase.CAPTURE else 100)
        return (lambda mode: fresh.forward(slots)), slots

    manager = GraphManager("cpu", check="error")
    manager.capture(builds_each_time, [descriptor], inputs=lambda _: {"x": fresh.x})
    assert manager.replay(descriptor, x=torch.ones(4)).tolist() == [1.0, 2.0, 3.0, 4.0]
