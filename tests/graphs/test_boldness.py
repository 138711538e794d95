"""A decision taken once from lengths is found, though indices beside them have to stay in a small table."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, Mode, Phase, check
from tests.graphs.engine import torch

DESCRIPTOR = BatchDescriptor(Mode.FULL, 4)


def splits_long_sequences(state: Any) -> bool:
    return bool((state.lengths > 4).any())


def serves_the_last_adapter(state: Any) -> bool:
    return bool((state.rows == 2).any())


def has_only_greedy_requests(state: Any) -> bool:
    return bool(state.greedy.all())


Decision = Callable[[Any], bool]
DECISIONS = splits_long_sequences, serves_the_last_adapter, has_only_greedy_requests


def program(decides: Decision, *, heeded: bool) -> tuple[Any, list[Any]]:
    x = torch.zeros(4)
    state = SimpleNamespace(
        adapters=torch.tensor([1.0, 2, 3]),
        rows=torch.zeros(4, dtype=torch.int32),
        lengths=torch.zeros(4, dtype=torch.int32),
        greedy=torch.zeros(16, dtype=torch.bool),
        decided=None,
    )

    def forward() -> Any:
        if state.decided is None:
            state.decided = decides(state)
        return state.adapters[state.rows] * x * (2 if heeded and state.decided else 1)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: forward()), state

    return create, [x, state.rows, state.lengths, state.greedy]


@pytest.mark.must_hold
@pytest.mark.parametrize("decides", DECISIONS)
def test_a_choice_by_one_input_shows_beside_another_that_is_an_index(decides: Decision) -> None:
    create, inputs = program(decides, heeded=True)
    report = check(create, [DESCRIPTOR], inputs=inputs)
    assert any(leak.what == "decided" for leak in report.leaks), str(report)


@pytest.mark.must_hold
def test_choices_that_nothing_heeds_are_no_leak() -> None:
    create, inputs = program(lambda state: sum(one(state) for one in DECISIONS) > 0, heeded=False)
    report = check(create, [DESCRIPTOR], inputs=inputs)
    assert report.answer == "clean", str(report)
