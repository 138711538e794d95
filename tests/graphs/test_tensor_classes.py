"""Tensors of other classes than torch's own are compared where they can be read, and said where not."""

from __future__ import annotations

from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, GraphManager, LeakError, Mode, Phase, StaleOutputError, check
from coldfork.graphs.leaks.memory import has_memory, is_readable
from tests.graphs.engine import torch

DESCRIPTOR = BatchDescriptor(Mode.FULL, 4)


class Named(torch.Tensor):  # type: ignore[misc]
    """As engines have parameters and activations that know more than a tensor does."""


def program(x: Any, *, keeps: bool, of: type) -> Any:
    kept: list[Any] = []

    def forward(mode: Mode) -> Any:
        if not kept:
            kept.append(x.clone())
        return (x * 2 + (kept[0] if keeps else 1)).as_subclass(of)

    return lambda descriptor, phase: (forward, None)


@pytest.mark.must_hold
@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("given", [torch.Tensor, Named])
def test_results_and_inputs_of_a_class_of_ones_own_are_compared(keeps: bool, given: type) -> None:
    x = torch.zeros(4).as_subclass(given)
    report = check(program(x, keeps=keeps, of=Named), [DESCRIPTOR], inputs=[x])
    assert bool(report.leaks) is keeps, str(report)
    assert report.not_compared == ()


@pytest.mark.parametrize("keeps", [True, False])
def test_guarded_outputs_are_compared(keeps: bool) -> None:
    x = torch.zeros(4)
    manager = GraphManager("cpu", check="error", guard_outputs=True)
    capture = [DESCRIPTOR]
    if keeps:
        with pytest.raises(LeakError):
            manager.capture(program(x, keeps=True, of=torch.Tensor), capture, inputs=lambda _: {"x": x})
        return
    manager.capture(program(x, keeps=False, of=torch.Tensor), capture, inputs=lambda _: {"x": x})
    assert manager.replay(DESCRIPTOR, x=torch.ones(4)).tolist() == [3.0] * 4


def test_an_output_that_was_overwritten_disturbs_no_later_check() -> None:
    x = torch.zeros(4)
    manager = GraphManager("cpu", guard_outputs=True)
    manager.capture(program(x, keeps=False, of=torch.Tensor), [DESCRIPTOR], inputs=lambda _: {"x": x})
    stale = manager.replay(DESCRIPTOR)
    manager.replay(DESCRIPTOR)
    with pytest.raises(StaleOutputError):
        stale.sum()
    report = check(program(x, keeps=False, of=torch.Tensor), [DESCRIPTOR], inputs=[x])
    assert report.answer == "clean"


def test_a_result_that_cannot_be_read_is_said() -> None:
    two_tensor = pytest.importorskip("torch.testing._internal.two_tensor")
    x = torch.zeros(4)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: {"plain": x * 2, "pair": two_tensor.TwoTensor(x * 3, x * 4)}), None

    report = check(create, [DESCRIPTOR], inputs=[x])
    assert report.leaks == (), str(report)
    assert report.not_compared[0].why == "a result of kind TwoTensor cannot be read"


def test_memory_is_told_from_what_can_be_read_of_it() -> None:
    two_tensor = pytest.importorskip("torch.testing._internal.two_tensor")
    plain, named = torch.zeros(2), torch.zeros(2).as_subclass(Named)
    elsewhere, sparse = torch.zeros(2, device="meta"), torch.zeros(2).to_sparse()
    pair, lazy = two_tensor.TwoTensor(plain, plain), torch.nn.LazyLinear(2).weight
    every = [plain, named, torch.nn.Parameter(plain), elsewhere, sparse, pair, lazy, "text"]
    assert [has_memory(one) for one in every] == [True, True, True, True, False, True, True, False]
    assert [is_readable(one) for one in every] == [True, True, True, False, False, False, False, False]
