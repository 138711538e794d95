"""The memory of a graph: shared where the program has let go of it, and poison where it was freed."""

from __future__ import annotations

import gc
from importlib.util import find_spec
from typing import Any

import pytest

from coldfork.virtual import CaptureError, capture

if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch

from coldfork.virtual.capturing.memory import Block, Poisoning, poison_value


def _keys(graph: Any, kind: str) -> set[int]:
    return {memory.key for memory in graph.memories if memory.kind == kind}


def test_intermediate_results_share_memory_and_the_replay_is_right() -> None:
    x = torch.arange(64.0)
    with capture() as graph:
        y = x
        for _ in range(50):
            y = (y * 1.01 + 1).sin()
    expected = x
    for _ in range(50):
        expected = (expected * 1.01 + 1).sin()
    graph.replay()
    assert torch.equal(y, expected)
    assert len(graph.records) == 150
    assert graph.nbytes <= 4 * x.nbytes


def test_memory_that_a_view_or_autograd_still_needs_is_not_used_again() -> None:
    x = torch.arange(6.0)
    weight = torch.ones(6, requires_grad=True)
    with capture() as graph:
        row = (x + 1).view(2, 3)[0]
        held = (x * weight).exp()
        loss = (held * held).sum()
        for _ in range(5):
            x * 3
        (gradient,) = torch.autograd.grad(loss, weight)
    graph.replay()
    assert row.tolist() == [1.0, 2.0, 3.0]
    again = torch.ones(6, requires_grad=True)
    (expected,) = torch.autograd.grad(((x * again).exp() ** 2).sum(), again)
    assert torch.allclose(gradient, expected)


def test_two_graphs_share_a_pool_without_disturbing_each_others_results() -> None:
    x = torch.arange(100.0)
    with capture() as first:
        a = ((x + 1) * 2).sqrt()
    with capture(pool=first.pool) as second:
        b = ((x + 3) * 4).sqrt()
    assert second.pool is first.pool
    assert _keys(first, "pool") & _keys(second, "pool")
    for _ in range(2):
        first.replay()
        second.replay()
        assert torch.equal(a, ((x + 1) * 2).sqrt())
        assert torch.equal(b, ((x + 3) * 4).sqrt())


def test_a_pool_takes_back_what_a_graph_that_is_gone_had() -> None:
    x = torch.arange(100.0)
    with capture() as kept:
        total = x.sum()
    pool = kept.pool
    with capture(pool=pool) as first:
        a = x + 1
    before = pool.nbytes
    del first, a
    gc.collect()
    with capture(pool=pool) as second:
        b = x + 2
    assert pool.nbytes == before
    second.replay()
    assert torch.equal(b, x + 2)
    kept.replay()
    assert total == x.sum()


@pytest.mark.parametrize("by_reset", [True, False])
def test_a_pool_whose_last_graph_is_gone_is_refused_as_a_device_does(by_reset: bool) -> None:
    x = torch.arange(100.0)
    with capture() as graph:
        y = x + 1
    pool = graph.pool
    if by_reset:
        graph.reset()
    else:
        del graph
        gc.collect()
    with pytest.raises(CaptureError, match="this pool's last graph is gone"), capture(pool=pool):
        x.add(1)
    assert y.isnan().all()


def test_the_result_of_a_graph_that_is_gone_is_not_used_again() -> None:
    x = torch.arange(100.0)
    with capture() as kept:
        x.sum()
    pool = kept.pool
    with capture(pool=pool) as first:
        a = x + 1
    first.replay()
    del first
    gc.collect()
    with capture(pool=pool) as second:
        b = x + 2
    second.replay()
    assert torch.equal(a, x + 1)
    assert torch.equal(b, x + 2)


@pytest.mark.must_hold
def test_an_input_that_the_program_dropped_is_poison_as_freed_memory_is() -> None:
    x, kept = torch.ones(4), torch.ones(4)
    with capture() as graph:
        y = x + kept
    graph.replay()
    assert y.tolist() == [2.0] * 4
    del x
    graph.replay()
    assert y.isnan().all()
    assert kept.tolist() == [1.0] * 4
    found = graph.explain_poison(y)
    assert found is not None
    assert "the program freed after the capture" in str(found)
    assert f"aten::add.Tensor at {__file__}:" in str(found)


def test_an_input_that_two_graphs_read_is_freed_for_both() -> None:
    x = torch.ones(4)
    with capture() as first:
        a = x + 1
    with capture() as second:
        b = x + 2
    del x
    first.replay()
    second.replay()
    assert a.isnan().all()
    assert b.isnan().all()


def test_a_graph_that_was_reset_lets_go_of_its_memory() -> None:
    x = torch.ones(4)
    with capture() as graph:
        x + 1
    graph.reset()
    assert graph.records == ()
    assert graph.nbytes == 0
    assert torch._C._storage_Use_Count(x.untyped_storage()._cdata) == 2


def test_a_failed_capture_lets_go_of_its_memory() -> None:
    x = torch.ones(4)

    def failing() -> None:
        with capture():
            x.add_(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert torch._C._storage_Use_Count(x.untyped_storage()._cdata) == 2


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.complex64],
    ids=str,
)
def test_poison_is_nan_in_every_type_that_has_it(dtype: Any) -> None:
    with capture():
        empty = torch.empty(3, 2, dtype=dtype)
    assert empty.to(torch.complex64).isnan().all()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8], ids=str)
def test_poison_is_a_pattern_in_integers(dtype: Any) -> None:
    with capture():
        empty = torch.empty(3, dtype=dtype)
    assert empty.view(torch.uint8).unique().tolist() == [0xA5]


def test_empty_memory_is_poisoned_anew_at_each_replay() -> None:
    x = torch.ones(2)
    with capture() as graph:
        y = torch.empty(4)
        y[:2].copy_(x)
    graph.replay()
    assert y[:2].tolist() == [1.0, 1.0]
    assert y[2:].isnan().all()
    y.fill_(5)
    graph.replay()
    assert y[2:].isnan().all()


@pytest.mark.must_hold
def test_memory_that_a_region_uses_again_holds_the_poison_of_what_it_holds_now() -> None:
    x = torch.ones(6)
    with capture() as graph:
        first = x * 2
        key = first.untyped_storage()._cdata
        del first
        second = x.int() * 3
        third = second.view(torch.float32) * 1
        del second
        fourth = x + 1
    assert key in {memory.key for memory in graph.memories}
    assert len(_keys(graph, "pool")) == 2
    assert third.isnan().all()
    assert fourth.isnan().all()
    with capture():
        number = (x * 2).int()
        again = number + 1
        del number
        bits = again.view(torch.uint8)
    assert bits.unique().tolist() == [0xA5]


def test_memory_of_an_earlier_graph_is_poisoned_for_the_next_one() -> None:
    x = torch.ones(6)
    with capture() as first:
        y = x * 2
    first.replay()
    assert y.tolist() == [2.0] * 6
    key = y.untyped_storage()._cdata
    del y
    with capture(pool=first.pool):
        z = x * 3
    assert z.untyped_storage()._cdata == key
    assert z.isnan().all()


def test_the_gaps_of_what_lay_there_before_are_poisoned_too() -> None:
    x = torch.ones(2, 2)
    with capture():
        gaps = torch.empty_strided((2, 2), (4, 1))
        block = gaps.untyped_storage()
        key, size = block._cdata, block.nbytes() // 4
        del gaps, block
        whole = torch.empty(size)
        assert whole.untyped_storage()._cdata == key
        x * 2
    assert whole.isnan().all()


def test_poison_is_written_once_where_nothing_computes_in_between() -> None:
    made = torch.empty(4)
    block = Block(made.untyped_storage())
    poisoning = Poisoning()
    poisoning.fill(made, block, poison_value(torch.float32))
    assert made.isnan().all()
    made.zero_()
    poisoning.fill(made, block, poison_value(torch.float32))
    assert made.tolist() == [0.0] * 4
    numbers = made.view(torch.int32)
    poisoning.fill(numbers, block, poison_value(torch.int32))
    assert numbers.view(torch.uint8).unique().tolist() == [0xA5]
    poisoning.fill(made[:3], block, poison_value(torch.float32))
    made.zero_()
    poisoning.fill(made, block, poison_value(torch.float32))
    assert made.isnan().all()
