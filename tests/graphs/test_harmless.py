"""Code that does more in its warm-up than in its capture, or keeps count, and replays rightly."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase, check
from tests.graphs.engine import torch

SIZE = 8
DESCRIPTORS = [BatchDescriptor(Mode.FULL, SIZE), BatchDescriptor(Mode.FULL, 4)]


def logs_a_mean(state: Any, x: Any) -> Any:
    if not state.seen:
        logging.getLogger("model").debug("mean %s", x.mean().item())
        state.seen = True
    return x * 2


def counts_calls(state: Any, x: Any) -> Any:
    state.calls += 1
    return x * 2


def counts_in_memory(state: Any, x: Any) -> Any:
    state.count += 1
    return x / state.count


def locks(state: Any, x: Any) -> Any:
    """As a kernel over several blocks does: its lock is zero again when it ends."""
    state.lock.add_(1)
    out = x * state.lock
    state.lock.sub_(1)
    return out


def masks_its_padding(state: Any, x: Any) -> Any:
    padded = torch.empty(SIZE * 2)
    padded[: x.shape[0]] = x
    mask = torch.arange(SIZE * 2) < x.shape[0]
    return torch.where(mask, padded * 2, torch.zeros(()))


def keeps_a_constant_in_memory(state: Any, x: Any) -> Any:
    if not state.seen:
        state.table.copy_(torch.arange(float(SIZE)).cos())
        state.seen = True
    return x * state.table[: x.shape[0]]


def chooses_by_time(state: Any, x: Any) -> Any:
    """Either kernel rounds in its own way."""
    state.calls += 1
    thirds = x / 3 + x / 3 + x / 3
    return thirds if state.calls % 2 else x * 1.0


def appends_to_a_cache(state: Any, x: Any) -> Any:
    state.cache[: x.shape[0]].add_(x)
    return state.cache.sum() + x


def writes_through_a_library(state: Any, x: Any) -> Any:
    out = torch.empty_like(x)
    torch.ops.tests_harmless.normalise(out, x)
    return out + x


def _normalise(out: Any, x: Any) -> None:
    out.copy_(x / (x.pow(2).mean().sqrt() + 1))


@pytest.fixture(scope="module", autouse=True)
def library() -> Any:
    with torch.library._scoped_library("tests_harmless", "DEF") as made:
        made.define("normalise(Tensor(a!) out, Tensor x) -> ()")
        made.impl("normalise", _normalise, "CPU")
        made.impl("normalise", lambda out, x: None, "Meta")
        yield


HARMLESS = [
    logs_a_mean,
    counts_calls,
    counts_in_memory,
    locks,
    masks_its_padding,
    keeps_a_constant_in_memory,
    chooses_by_time,
    appends_to_a_cache,
    writes_through_a_library,
]


def program(forward: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    tokens = torch.zeros(SIZE)
    state = SimpleNamespace(
        seen=False,
        calls=0,
        count=torch.zeros(()),
        lock=torch.zeros(()),
        table=torch.zeros(SIZE),
        cache=torch.zeros(SIZE),
    )

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        x = tokens[: descriptor.tokens]
        return (lambda mode: forward(state, x)), state

    return create, tokens


@pytest.mark.must_hold
@pytest.mark.parametrize("forward", HARMLESS)
def test_what_changes_no_result_is_no_leak(forward: Callable[[Any, Any], Any]) -> None:
    create, tokens = program(forward)
    report = check(create, DESCRIPTORS, inputs=[tokens])
    assert report.answer == "clean", str(report)


def test_a_manager_that_checks_captures_what_changes_no_result() -> None:
    create, tokens = program(keeps_a_constant_in_memory)
    manager = GraphManager("cpu", check="error")
    manager.capture(create, DESCRIPTORS, inputs=lambda descriptor: {"x": tokens}, progress=False)
