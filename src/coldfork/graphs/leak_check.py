"""Leak checks for engines that have their own graph manager; the graphs made for a check are discarded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs import batches, engines
from coldfork.graphs.batches import making
from coldfork.graphs.checking import Checker
from coldfork.graphs.descriptors import (
    BatchDescriptor,
    CreateForward,
    CreateForwardOn,
    Mode,
    Phase,
    StatePair,
)
from coldfork.graphs.errors import CaptureFailedError, LeakError
from coldfork.graphs.findings import Leak, LeakKind, Report, joined
from coldfork.graphs.manager import GraphManager
from coldfork.graphs.passes import Inputs, Make, StaticInputs, running_with
from coldfork.model.states import Frame
from coldfork.virtual import CaptureRefusedError


def check(
    create_forward: CreateForward | CreateForwardOn,
    descriptors: Iterable[BatchDescriptor],
    *,
    persistent: Iterable[Any] = (),
    inputs: Iterable[Any] | Mapping[str, Any] | None = None,
    values: Inputs | None = None,
    prepare: batches.Prepare | None = None,
    allow: Mapping[str, str] | None = None,
    states: Mapping[BatchDescriptor, StatePair] | None = None,
    device: Any = None,
) -> Report:
    """Capture each batch as a `GraphManager` would, and report how the graph depends on the warm-up.

    `inputs` are the tensors that hold new data in each step, by name if you like; without them, all tensors
    that the forward function sees count as inputs, except parameters and buffers of modules. `persistent`
    are tensors that the program itself keeps up to date, such as a cache. `prepare(descriptor, seed)` fills
    the inputs of one step as the program does; without it, values are made up, and relations among the inputs
    are kept as far as the program needs them. `values(descriptor)` returns one more batch of inputs to
    compare, under the names of `inputs`. `allow` names what need not be compared, with the reason; the report
    lists everything else that was not compared. The device is a GPU if torch uses one in this process,
    and otherwise the CPU, where captures are virtual.
    """
    used = "cuda" if sys.modules["torch"].cuda.is_initialized() else "cpu"
    engine = engines.engine_for(used if device is None else device)
    wanted = tuple(descriptors)
    make = making(create_forward, states)
    pool = engine.new_pool()
    named = _by_name(inputs)
    choose = None if values is None else _filling(values, dict(named or ()))
    checker = Checker(make, wanted, engine, persistent, named, allow or {}, prepare=prepare, choose=choose)
    with closing(checker):
        reports = [_report(descriptor, make, engine, pool, checker) for descriptor in wanted]
    return joined(reports)


def _by_name(inputs: Iterable[Any] | Mapping[str, Any] | None) -> list[tuple[str, Any]] | None:
    if inputs is None or isinstance(inputs, Mapping):
        return None if inputs is None else list(inputs.items())
    return [(f"inputs[{number}]", one) for number, one in enumerate(inputs)]


def _filling(values: Inputs, inputs: Mapping[str, Any]) -> batches.Prepare:
    """Return a function that fills the inputs with the caller's values for a batch."""

    def fill(descriptor: BatchDescriptor, seed: int) -> None:
        for name, value in values(descriptor).items():
            if name not in inputs:
                raise ValueError(f"values= gives {name!r}, which is none of inputs=: {', '.join(inputs)}")
            inputs[name].copy_(value)

    return fill


def _report(
    descriptor: BatchDescriptor, make: Make, engine: engines.Engine, pool: Any, checker: Checker
) -> Report:
    inputs = StaticInputs(descriptor, {})
    try:
        batch, _, _ = batches.capture(descriptor, make, engine, pool, inputs, checker.inspector)
    except CaptureFailedError as error:
        refused = error.__cause__
        is_refusal = isinstance(refused, CaptureRefusedError) or "capturing" in str(refused)
        if error.phase is not Phase.CAPTURE or not is_refusal:
            raise
        report = checker.inspector.report()
        return replace(report, leaks=(*report.leaks, _host_read(descriptor, refused)))
    return checker.report(batch)


def _host_read(descriptor: BatchDescriptor, error: BaseException | None) -> Leak:
    where = getattr(error, "where", None) or _innermost(error)
    what = getattr(error, "what", "") or "an operation"
    message = f"{what} waits for the device, which a capture refuses"
    return Leak(LeakKind.HOST_READ, str(descriptor), what, message, where)


def _innermost(error: BaseException | None) -> Frame | None:
    """Return the innermost line of a traceback that belongs to the program itself."""
    trace = None if error is None else error.__traceback__
    found = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/torch/" not in code.co_filename and "/coldfork/" not in code.co_filename:
            found = Frame(code.co_filename, trace.tb_lineno, code.co_qualname)
        trace = trace.tb_next
    return found


def assert_replayable(
    create_forward: CreateForward | CreateForwardOn,
    descriptors: Iterable[BatchDescriptor],
    *,
    inputs: Inputs | None = None,
    values: Inputs | None = None,
    persistent: Iterable[Any] = (),
    prepare: batches.Prepare | None = None,
    allow: Mapping[str, str] | None = None,
    states: Mapping[BatchDescriptor, StatePair] | None = None,
    device: Any = "cpu",
    **options: Any,
) -> None:
    """Fail unless each batch can be captured and its replays compute the same as eager runs.

    Each batch is captured with `check="error"`, which compares a replay with a fresh run on other values.
    Anything that could not be compared also fails, unless `allow` names it with a reason.
    `prepare(descriptor, seed)` fills the inputs of one step as your program does; without it, values are made
    up. If only certain values make sense, `values(descriptor)` should return another batch of inputs to
    compare, with the names of `inputs(descriptor)`. The inputs' contents are restored afterwards. `options`
    are passed to `GraphManager`, such as `warmups=2`.
    """
    __tracebackhide__ = True
    wanted = list(descriptors)
    manager = GraphManager(device, check="error", persistent=persistent, allow=allow or {}, **options)
    try:
        manager.capture(create_forward, wanted, inputs=inputs, prepare=prepare, states=states, progress=False)
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
                expected = pytree.tree_map_only(torch.Tensor, torch.clone, forward(Mode.NONE))
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


@contextmanager
def _put_back(buffers: Mapping[str, Any]) -> Iterator[None]:
    before = {name: one.clone() for name, one in buffers.items()}
    try:
        yield
    finally:
        for name, one in before.items():
            buffers[name].copy_(one)
