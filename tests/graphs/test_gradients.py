"""Modules with graphs for both passes: forward and gradients as eager modules compute them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from coldfork.graphs import GraphError, InputError, make_graphed_callables
from coldfork.virtual import CaptureRefusedError
from tests.graphs.engine import torch

nn = torch.nn


class Attending(nn.Module):  # type: ignore[misc,name-defined]
    """A module with parts of all kinds, and two outputs, one of which has no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens: Any, extra: Any) -> dict[str, Any]:
        x = self.embed(tokens) + extra
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        scores = self.head(x)
        return {"scores": scores, "best": scores.argmax(-1)}


def _convolving() -> Any:
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))


#: How each module is made, and its arguments.
MODULES: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]] = {
    "linear": (lambda: nn.Linear(4, 3), lambda: (torch.randn(5, 4, requires_grad=True),)),
    "layers": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4), nn.LayerNorm(4), nn.Softmax(-1)),
        lambda: (torch.randn(5, 4, requires_grad=True),),
    ),
    "input without gradient": (lambda: nn.Linear(4, 3), lambda: (torch.randn(5, 4),)),
    "convolution": (_convolving, lambda: (torch.randn(3, 2, 4, 4, requires_grad=True),)),
    "attention": (
        Attending,
        lambda: (torch.randint(10, (2, 5)), torch.randn(2, 5, 8, requires_grad=True)),
    ),
}


def step(module: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return the outputs and gradients of one step, in which gradients are added to those of before."""
    args = tuple(one.detach().clone().requires_grad_(one.requires_grad) for one in args)
    output = module(*args)
    outputs = list(output.values()) if isinstance(output, dict) else [output]
    sum((one * one).sum() for one in outputs if one.requires_grad).backward()
    leaves = [*args, *module.parameters()]
    return [one.detach().clone() for one in outputs] + [
        one.grad.clone() for one in leaves if one.grad is not None
    ]


@pytest.mark.parametrize("name", MODULES)
def test_a_graphed_module_computes_what_it_does_eagerly(name: str) -> None:
    make, arguments = MODULES[name]
    torch.manual_seed(0)
    eager = make()
    graphed = copy.deepcopy(eager)
    assert make_graphed_callables(graphed, arguments(), device="cpu", warmups=1) is graphed
    graphed.load_state_dict(eager.state_dict())  # a warm-up counts for the statistics of a batch norm
    optimizers = [torch.optim.SGD(one.parameters(), 0.1) for one in (eager, graphed)]
    for number in range(3):
        args = arguments()
        wanted, mine = step(eager, args), step(graphed, args)
        assert len(wanted) == len(mine) > 1
        for one, other in zip(wanted, mine, strict=True):
            torch.testing.assert_close(one, other)
        if number:  # the first two steps add up
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    graphed.eval(), eager.eval()
    for one, other in zip(step(eager, args), step(graphed, args), strict=True):
        torch.testing.assert_close(one, other)


def test_parts_of_a_model_share_a_pool_and_an_output_of_one_goes_into_the_next() -> None:
    torch.manual_seed(0)
    first, second = nn.Linear(4, 4), nn.Linear(4, 2)
    twins = copy.deepcopy(first), copy.deepcopy(second)
    sample = torch.randn(3, 4, requires_grad=True)
    made = make_graphed_callables(
        (first, second), ((sample,), (sample.detach().requires_grad_(),)), device="cpu"
    )
    assert made == (first, second)
    x = torch.randn(3, 4, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    second(first(x).relu()).sum().backward()
    twins[1](twins[0](y).relu()).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    for mine, other in zip((first, second), twins, strict=True):
        torch.testing.assert_close(mine.weight.grad, other.weight.grad)


def test_a_function_is_graphed_with_its_constants() -> None:
    scaled = make_graphed_callables(lambda x, factor: x.sin() * factor, (torch.zeros(3), 2.0), device="cpu")
    x = torch.arange(3.0)
    assert torch.equal(scaled(x, 2.0), x.sin() * 2)
    with pytest.raises(InputError, match=r"was captured with 2\.0, and is now given 3\.0"):
        scaled(x, 3.0)
    with pytest.raises(
        InputError, match=r"was captured with \(3,\) of torch.float32, and is now given \(4,\)"
    ):
        scaled(torch.zeros(4), 2.0)
    with pytest.raises(InputError, match="different arguments"):
        scaled(x)
    with pytest.raises(InputError, match="needs a gradient, and that of the sample did not"):
        scaled(torch.zeros(3, requires_grad=True), 2.0)


def test_a_backward_pass_that_comes_too_late_is_refused() -> None:
    module = make_graphed_callables(nn.Linear(2, 2), (torch.zeros(1, 2),), device="cpu")
    first = module(torch.ones(1, 2)).sum()
    module(torch.zeros(1, 2))
    with pytest.raises(GraphError, match="Linear was called again before this backward pass"):
        first.backward()


def test_what_cannot_be_graphed_is_refused() -> None:
    x = torch.zeros(2, 2)
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(GraphError, match="Linear has hooks"):
        make_graphed_callables(hooked, (x,), device="cpu")
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(GraphError, match="cache_enabled=False"):
        make_graphed_callables(nn.Linear(2, 2), (x,), device="cpu")
    with pytest.raises(GraphError, match="something other than tensors"):
        make_graphed_callables(lambda x: (x, 1), (x,), device="cpu")
    with pytest.raises(GraphError, match="2 functions are given, and the arguments of 1"):
        make_graphed_callables((torch.sin, torch.cos), ((x,),), device="cpu")
    with pytest.raises(CaptureRefusedError):
        make_graphed_callables(lambda x: x * x.sum().item(), (x,), device="cpu")
    buffered = nn.BatchNorm1d(2)
    buffered.running_mean.requires_grad_()
    with pytest.raises(GraphError, match="BatchNorm1d has a buffer that needs a gradient"):
        make_graphed_callables(buffered, (x,), device="cpu")
