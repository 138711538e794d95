"""Programs of the shapes that engines have: three answers, and the line."""

from __future__ import annotations

import gc
import pickle
import threading
from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    CaptureFailedError,
    GraphManager,
    Mode,
    Phase,
    check,
)
from tests.graphs.shapes import PROGRAMS, lines, program

torch: Any = pytest.importorskip("torch")


@pytest.mark.must_hold
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_answered_as_it_behaves(name: str) -> None:
    loaded: dict[str, Any] = program(name)
    report = check(
        loaded["create_forward"], loaded["SIZES"], inputs=loaded["inputs"], persistent=loaded["persistent"]
    )
    assert report.answer == ("leaks" if lines(name) else "clean"), str(report)
    named = {frame.line for leak in report.leaks for frame in (leak.where, leak.origin) if frame is not None}
    assert not report.leaks or named & lines(name), str(report)


def test_memory_that_goes_on_from_what_the_warm_up_left_there_may_be_a_leak() -> None:
    x, kept = torch.zeros(4), {}

    def forward(mode: Mode) -> None:
        if "sum" not in kept:
            kept["sum"] = torch.zeros(4)
        kept["sum"].add_(x)

    batch = BatchDescriptor(Mode.FULL, 4)
    report = check(lambda descriptor, phase: (forward, kept), [batch], inputs={"x": x})
    assert report.answer == "leaks", str(report)
    assert "could not be ruled out" in str(report).splitlines()[0]
    assert "is updated from its own contents" in report.not_compared[0].why


def test_a_warm_up_that_could_not_be_tried_on_other_values_is_not_compared() -> None:
    x = torch.zeros(4)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        if phase is Phase.WARMUP and bool(x.any()):
            raise ValueError("a warm-up takes zeros")
        return (lambda mode: x * 2), None

    report = check(create, [BatchDescriptor(Mode.FULL, 4)], inputs={"x": x})
    assert report.answer == "not compared", str(report)
    assert "a warm-up takes zeros" in report.not_compared[0].why


def test_memory_that_an_engine_has_frozen_is_compared() -> None:
    x, cache, kept = torch.zeros(4), torch.zeros(4), {}

    def forward(mode: Mode) -> None:
        if "done" not in kept:
            kept["done"] = True
            cache.add_(x)

    gc.freeze()
    report = check(lambda *_: (forward, kept), [BatchDescriptor(Mode.FULL, 4)], inputs={"x": x})
    assert report.answer == "leaks", str(report)
    assert report.leaks


def test_a_forward_function_that_leaves_nothing_is_not_compared() -> None:
    x = torch.zeros(4)
    report = check(lambda *_: ((lambda mode: None), None), [BatchDescriptor(Mode.FULL, 4)], inputs=[x])
    assert [gap.what for gap in report.not_compared] == ["results"]


def test_a_capture_that_failed_can_be_sent_to_another_process() -> None:
    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: torch.ones(2).sum().item()), None

    with pytest.raises(CaptureFailedError) as failed:
        GraphManager("cpu").capture(create, [BatchDescriptor(Mode.FULL, 2)])
    again = pickle.loads(pickle.dumps(failed.value))
    assert (str(again), again.phase, again.descriptor) == (
        str(failed.value), Phase.CAPTURE, BatchDescriptor(Mode.FULL, 2),
    )  # fmt: skip


@pytest.mark.parametrize("leaks", [True, False])
def test_a_program_fills_its_own_inputs(leaks: bool) -> None:
    lengths, blocks = torch.full((4,), 6), torch.full((4,), 2)
    kept: dict[str, Any] = {}

    def forward(mode: Mode) -> Any:
        longest = lengths.max()
        return blocks / (kept.setdefault("longest", longest) if leaks else longest)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        if bool((blocks != (lengths + 3) // 4).any()):
            raise ValueError("the blocks do not hold the sequences")
        return forward, None

    def prepare(descriptor: BatchDescriptor, seed: int) -> None:
        lengths.copy_(torch.randint(1, 40, (4,)))
        blocks.copy_((lengths + 3) // 4)

    batch = BatchDescriptor(Mode.FULL, 4)
    report = check(create, [batch], inputs=[lengths, blocks], prepare=prepare)
    assert report.answer == ("leaks" if leaks else "clean"), str(report)
    assert lengths.tolist() == [6] * 4


def test_what_another_thread_reads_of_an_input_that_takes_no_other_values_is_not_compared() -> None:
    lengths = torch.full((4,), 3)
    kept: dict[str, Any] = {}

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        if lengths.tolist() != [3] * 4:
            raise ValueError("all sequences are of one length")

        def forward(mode: Mode) -> Any:
            if not kept:
                thread = threading.Thread(target=lambda: kept.update(plan=lengths.cumsum(0)))
                thread.start()
                thread.join()
            return kept["plan"] * 2

        return forward, None

    report = check(create, [BatchDescriptor(Mode.FULL, 4)], inputs={"lengths": lengths})
    assert [gap.what for gap in report.not_compared] == ["lengths"], str(report)


def test_a_choice_by_lengths_that_are_checked_against_each_other_is_tried() -> None:
    x, lengths, starts = torch.zeros(8), torch.full((4,), 2), torch.arange(0, 9, 2)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        if bool((lengths != starts.diff()).any()) or starts[-1] != 8 or bool((lengths <= 0).any()):
            raise ValueError("the lengths do not fill the batch")
        long = int(lengths.max()) > 4
        return (lambda mode: x.cumsum(0) if long else x * 2), None

    report = check(create, [BatchDescriptor(Mode.FULL, 8)], inputs=[x, lengths, starts])
    assert report.answer == "leaks", str(report)


@pytest.mark.parametrize("prepared", [True, False])
def test_a_choice_by_whether_any_flag_is_set_is_tried_both_ways(prepared: bool) -> None:
    x, flags = torch.zeros(8), torch.tensor([False, True, *[False] * 6])

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        some = bool(flags.any())
        return (lambda mode: x * 2 if some else x + 1), None

    def prepare(descriptor: BatchDescriptor, seed: int) -> None:
        x.copy_(torch.rand(8))
        flags[1] = torch.rand(()) < 0.9

    batch = BatchDescriptor(Mode.FULL, 8)
    report = check(create, [batch], inputs=[x, flags], prepare=prepare if prepared else None)
    assert report.answer == "leaks", str(report)


@pytest.mark.parametrize("heeds", [True, False])
def test_a_preparation_that_heeds_no_seed_compares_nothing(heeds: bool) -> None:
    x = torch.zeros(4)

    def prepare(descriptor: BatchDescriptor, seed: int) -> None:
        x.copy_(torch.arange(1.0, 5.0) + seed * heeds)

    batch = BatchDescriptor(Mode.FULL, 4)
    report = check(lambda *_: ((lambda mode: x * 2), None), [batch], inputs={"x": x}, prepare=prepare)
    assert report.answer == ("clean" if heeds else "not compared"), str(report)
    if not heeds:
        assert [(gap.what, gap.why) for gap in report.not_compared] == [
            ("x", "prepare= fills in the same values for every seed")
        ]
