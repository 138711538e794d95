"""Checks a forward function that a manager of your own captures; what is captured here is thrown away."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from coldfork.graphs import batches, engines
from coldfork.graphs.checking import Checker
from coldfork.graphs.descriptors import (
    BatchDescriptor,
    CreateForward,
    CreateForwardOn,
    Phase,
    StatePair,
)
from coldfork.graphs.errors import CaptureFailedError
from coldfork.graphs.findings import Leak, LeakKind, Report, joined
from coldfork.graphs.manager import making
from coldfork.graphs.passes.inputs import StaticInputs
from coldfork.model.states import Frame
from coldfork.virtual import CaptureRefusedError


def check(
    create_forward: CreateForward | CreateForwardOn,
    descriptors: Iterable[BatchDescriptor],
    *,
    persistent: Iterable[Any] = (),
    inputs: Iterable[Any] | None = None,
    states: Mapping[BatchDescriptor, StatePair] | None = None,
    device: Any = None,
) -> Report:
    """Capture each batch as a manager would, and report what of its warm-up the graph depends on.

    `inputs` are the tensors that hold another batch's data each time; without them all tensors that the
    forward function sees count, but for the parameters and buffers of modules. `persistent` are tensors that
    the program keeps up to date itself, such as a cache. The device is a GPU if torch uses one here, and
    else the CPU, on which captures are virtual.
    """
    engine = engines.engine_for(device if device is not None else _device())
    wanted = tuple(descriptors)
    make = making(create_forward, states)
    pool = engine.new_pool()
    with closing(Checker(make, wanted, engine, persistent, inputs)) as checker:
        reports = [_report(descriptor, make, engine, pool, checker) for descriptor in wanted]
    return joined(reports)


def _report(
    descriptor: BatchDescriptor,
    make: Callable[[BatchDescriptor, Phase], Any],
    engine: engines.Engine,
    pool: Any,
    checker: Checker,
) -> Report:
    try:
        batch, _, _ = batches.capture(
            descriptor, make, engine, pool, StaticInputs(descriptor, {}), checker.inspector
        )
    except CaptureFailedError as error:
        refused = error.__cause__
        if error.phase is not Phase.CAPTURE or not _is_refusal(refused):
            raise
        report = checker.inspector.report()
        return replace(report, leaks=(*report.leaks, _host_read(descriptor, refused)))
    return checker.report(batch)


def _is_refusal(error: BaseException | None) -> bool:
    return isinstance(error, CaptureRefusedError) or "capturing" in str(error)


def _host_read(descriptor: BatchDescriptor, error: BaseException | None) -> Leak:
    where = getattr(error, "where", None) or _innermost(error)
    what = getattr(error, "what", "") or "an operation"
    message = f"{what} waits for the device, which a capture refuses"
    return Leak(LeakKind.HOST_READ, str(descriptor), what, message, where)


def _innermost(error: BaseException | None) -> Frame | None:
    """The last line of the program itself in a traceback."""
    trace = None if error is None else error.__traceback__
    found = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/torch/" not in code.co_filename and "/coldfork/" not in code.co_filename:
            found = Frame(code.co_filename, trace.tb_lineno, code.co_qualname)
        trace = trace.tb_next
    return found


def _device() -> str:
    return "cuda" if sys.modules["torch"].cuda.is_initialized() else "cpu"
