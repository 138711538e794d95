"""A test for an engine's own suite: its graphs compute, without a device, what its eager pass computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs.descriptors import (
    BatchDescriptor,
    CreateForward,
    CreateForwardOn,
    Mode,
    Phase,
    StatePair,
)
from coldfork.graphs.errors import CaptureFailedError, LeakError
from coldfork.graphs.manager import GraphManager, making
from coldfork.graphs.passes.step_state import running_with
from coldfork.graphs.recipes import Inputs


def assert_replayable(
    create_forward: CreateForward | CreateForwardOn,
    descriptors: Iterable[BatchDescriptor],
    *,
    inputs: Inputs | None = None,
    values: Inputs | None = None,
    persistent: Iterable[Any] = (),
    states: Mapping[BatchDescriptor, StatePair] | None = None,
    device: Any = "cpu",
) -> None:
    """Fail unless each batch can be captured, and its replays compute what eager runs compute.

    Each batch is captured with `check="error"`, which compares a replay with a fresh run on other values.
    Where only some values make sense, `values(descriptor)` gives a further batch for the inputs, by the names
    that `inputs(descriptor)` gives them. What the inputs held is put back.
    """
    __tracebackhide__ = True
    wanted = list(descriptors)
    manager = GraphManager(device, check="error", persistent=persistent)
    try:
        manager.capture(create_forward, wanted, inputs=inputs, states=states, progress=False)
    except (CaptureFailedError, LeakError) as error:
        raise AssertionError(f"not replayable: {error}") from error
    if values is None:
        return
    make = making(create_forward, states)
    for descriptor in wanted:
        buffers = manager.buffers(descriptor)
        with _put_back(buffers), torch.no_grad():
            given = dict(values(descriptor))
            for name, value in given.items():
                buffers[name].copy_(value)
            forward, state = make(descriptor, Phase.WARMUP)
            with running_with(state):
                expected = _copied(forward(Mode.NONE))
            for name, value in given.items():
                buffers[name].copy_(value)
            _compare(descriptor, manager.replay(descriptor), expected)


def _compare(descriptor: BatchDescriptor, replayed: Any, expected: Any) -> None:
    __tracebackhide__ = True
    ours, theirs = pytree.tree_flatten(replayed), pytree.tree_flatten(expected)
    if ours[1] != theirs[1]:
        raise AssertionError(f"{descriptor}: a replay returns {ours[1]}, and an eager run {theirs[1]}")
    for number, (mine, other) in enumerate(zip(ours[0], theirs[0], strict=True)):
        if isinstance(mine, torch.Tensor):
            torch.testing.assert_close(
                mine, other, equal_nan=True, msg=_because(f"{descriptor}: output {number} of a replay")
            )


def _because(what: str) -> Any:
    return lambda difference: f"{what} is not what an eager run on the same inputs computes\n{difference}"


def _copied(outputs: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, torch.clone, outputs)


@contextmanager
def _put_back(buffers: Mapping[str, Any]) -> Iterator[None]:
    before = {name: one.clone() for name, one in buffers.items()}
    try:
        yield
    finally:
        for name, one in before.items():
            buffers[name].copy_(one)
