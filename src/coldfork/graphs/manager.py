"""Captures graphs for batches with warm-up and capture state kept apart, and replays them."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from coldfork.graphs import batches, engines
from coldfork.graphs.batches import CapturedBatch
from coldfork.graphs.descriptors import (
    BatchDescriptor,
    CreateForward,
    CreateForwardOn,
    Mode,
    Phase,
    StatePair,
)
from coldfork.graphs.dispatching import Rule, Table, in_place_of
from coldfork.graphs.errors import (
    BusyError,
    CaptureFailedError,
    DeviceLostError,
    GraphError,
    LeakError,
    NotCapturedError,
)
from coldfork.graphs.findings import Report
from coldfork.graphs.inputs import StaticInputs
from coldfork.graphs.leaks.inspection import Inspection, Inspector

Inputs = Callable[[BatchDescriptor], Mapping[str, Any]]
"""Gives the tensors through which the graph of a batch is fed."""
Progress = Callable[[int, int, BatchDescriptor | None], None]
"""Called with how many are done, how many there are, and the batch that comes next."""

_WIDTH = 20


class LeakWarning(RuntimeWarning):
    """Something that warm-up left behind is used by a captured graph."""


class GraphManager:
    """Captures one graph for each batch descriptor, and replays them.

    For each batch `create_forward(descriptor, phase)` is called twice and makes its state anew each time. The
    first forward function is run eagerly, which initialises whatever initialises itself on first use. The
    second is captured, under a state that no warm-up has touched, so that the graph contains the work that
    initialises it.

    `device` is a CUDA device, or `"cpu"` for virtual capture. With `check="error"` or `"warn"` each capture
    is examined for what warm-up left behind in it; `persistent` are the tensors that may be shared because
    the program itself keeps them up to date.

    `rule` gives the batches that may run in place of one that was not captured, the best first.
    """

    def __init__(
        self,
        device: Any = "cuda",
        pool: Any = None,
        *,
        check: Literal["error", "warn", "off"] = "off",
        persistent: Iterable[Any] = (),
        rule: Rule = in_place_of,
    ) -> None:
        if check not in ("error", "warn", "off"):
            raise ValueError(f"check is 'error', 'warn' or 'off', not {check!r}")
        self._engine = engines.engine_for(device)
        self._pool = pool if pool is not None else self._engine.new_pool()
        self._check = check
        self._persistent = tuple(persistent)
        self._captured: dict[BatchDescriptor, CapturedBatch] = {}
        self._rule = rule
        self._table = Table((), rule)
        self._lock = threading.Lock()
        self._doing = ""
        self._lost: BaseException | None = None
        self.failed: dict[BatchDescriptor, BaseException] = {}
        """What could not be captured, and why, where the others were kept."""

    # --- capturing ----------------------------------------------------------------------------------------

    def capture(
        self,
        create_forward: CreateForward | CreateForwardOn,
        descriptors: Iterable[BatchDescriptor],
        *,
        inputs: Inputs | None = None,
        states: Mapping[BatchDescriptor, StatePair] | None = None,
        progress: Progress | bool = True,
        on_failure: Literal["rollback", "keep"] = "rollback",
    ) -> Mapping[BatchDescriptor, StatePair]:
        """Capture a graph for each descriptor, the largest first, and return the states of each.

        `states` are those of another manager: `create_forward` is then called with a third argument, the
        other's state of the same descriptor and phase. `inputs(descriptor)` names the tensors that `replay`
        fills. Where a batch fails, `on_failure="rollback"` gives up those of this call and raises, and
        `"keep"` goes on and notes it in `failed`.
        """
        wanted = self._in_order(descriptors)
        fed = None if inputs is None else [one for each in wanted for one in inputs(each).values()]
        inspector = Inspection() if self._check == "off" else Inspector(self._persistent, fed)
        done: list[BatchDescriptor] = []
        tell = _teller(progress)
        with self._busy("capturing"), _no_collection():
            for number, descriptor in enumerate(wanted):
                tell(number, len(wanted), descriptor)
                make = making(create_forward, states)
                buffers = StaticInputs(descriptor, inputs(descriptor) if inputs is not None else {})
                try:
                    self._capture_one(descriptor, make, buffers, inspector)
                except (CaptureFailedError, LeakError) as error:
                    self._note_failure(descriptor, error, done, keep=on_failure == "keep")
                else:
                    done.append(descriptor)
            tell(len(wanted), len(wanted), None)
        return {descriptor: self._captured[descriptor].states for descriptor in done}

    def _capture_one(
        self, descriptor: BatchDescriptor, make: batches.Make, buffers: StaticInputs, inspector: Inspection
    ) -> None:
        batch, self._pool = batches.capture(descriptor, make, self._engine, self._pool, buffers, inspector)
        if isinstance(inspector, Inspector):
            report = inspector.report(descriptor)
            if report.leaks:
                self._tell_leaks(report)
        self._captured[descriptor] = batch

    def _tell_leaks(self, report: Report) -> None:
        if self._check == "error":
            raise LeakError(report)
        warnings.warn(str(report), LeakWarning, stacklevel=4)

    def _note_failure(
        self, descriptor: BatchDescriptor, error: GraphError, done: list[BatchDescriptor], *, keep: bool
    ) -> None:
        if error.__cause__ is not None and engines.is_lost(error.__cause__):
            self._lost = error.__cause__
        if not keep:
            for one in done:
                del self._captured[one]
            raise error
        self.failed[descriptor] = error

    def _in_order(self, descriptors: Iterable[BatchDescriptor]) -> list[BatchDescriptor]:
        wanted = list(dict.fromkeys(descriptors))
        for descriptor in wanted:
            if descriptor.mode is Mode.NONE:
                raise GraphError(f"{descriptor} runs eagerly; there is nothing to capture")
            if descriptor in self._captured:
                raise GraphError(f"{descriptor} is captured already; release() it first")
        # Memory that the largest graph needed is enough for every smaller one.
        return sorted(wanted, key=lambda one: (one.mode is Mode.FULL, -one.tokens, -one.size[1]))

    # --- using them ---------------------------------------------------------------------------------------

    @property
    def descriptors(self) -> tuple[BatchDescriptor, ...]:
        """What is captured, the largest first."""
        return tuple(sorted(self._captured, key=lambda one: one.size, reverse=True))

    def dispatch(self, descriptor: BatchDescriptor) -> BatchDescriptor | None:
        """The captured batch that this one runs in, padded if need be; None where it has to run eagerly."""
        return self._table.find(descriptor)

    def buffers(self, descriptor: BatchDescriptor) -> Mapping[str, Any]:
        """The input tensors of a captured batch, for who writes them in place."""
        return self._batch(descriptor).inputs.as_mapping()

    def replay(self, descriptor: BatchDescriptor, /, **inputs: Any) -> Any:
        """Copy the inputs into the batch's buffers and replay its graph; returns its static outputs.

        The next replay overwrites them.
        """
        batch = self._batch(descriptor)
        if not self._lock.acquire(blocking=False):
            raise BusyError(f"this manager is {self._doing} already; one graph runs at a time")
        try:
            self._doing = "replaying"
            if self._lost is not None:
                self._refuse_lost()
            if inputs:
                batch.inputs.fill(inputs)
            return batch.replay()
        except Exception as error:
            if engines.is_lost(error):
                self._lost = error
                self._refuse_lost()
            raise
        finally:
            self._lock.release()

    def release(self, *descriptors: BatchDescriptor) -> None:
        """Give up the graphs of these batches, or of all."""
        with self._busy("releasing graphs"):
            for descriptor in descriptors or tuple(self._captured):
                self._batch(descriptor)
                del self._captured[descriptor]

    def _batch(self, descriptor: BatchDescriptor) -> CapturedBatch:
        batch = self._captured.get(descriptor)
        if batch is None:
            have = ", ".join(map(str, self.descriptors)) or "nothing yet"
            raise NotCapturedError(
                f"no graph was captured for {descriptor} (captured: {have}); dispatch() finds one to pad to"
            )
        return batch

    @contextmanager
    def _busy(self, doing: str) -> Any:
        if not self._lock.acquire(blocking=False):
            raise BusyError(f"this manager is {self._doing} already; {doing} has to wait for its end")
        try:
            if self._lost is not None:
                self._refuse_lost()
            self._doing = doing
            yield
        finally:
            self._table = Table(self._captured, self._rule)
            self._lock.release()

    def _refuse_lost(self) -> None:
        raise DeviceLostError(
            f"the device {self._engine.device} was lost ({str(self._lost).splitlines()[0]}); graphs cannot "
            "be used in this process any more"
        ) from self._lost


def making(
    create_forward: CreateForward | CreateForwardOn, states: Mapping[BatchDescriptor, StatePair] | None
) -> batches.Make:
    """What makes a batch's forward function for a phase, given another manager's state where there is one."""
    create: Any = create_forward
    if states is None:
        made: batches.Make = create
        return made

    def make(descriptor: BatchDescriptor, phase: Phase) -> Any:
        pair = states.get(descriptor)
        if pair is None:
            raise NotCapturedError(f"the other manager has no state for {descriptor}")
        return create(descriptor, phase, pair.of(phase))

    return make


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect once, then not again before the block ends: freeing memory of the device breaks a capture."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _teller(progress: Progress | bool) -> Progress:
    """What `progress=` asks for: a function of the caller's, a bar on a terminal, or nothing."""
    if callable(progress):
        return progress
    return _bar if progress and sys.stderr.isatty() else lambda done, total, descriptor: None


def _bar(done: int, total: int, descriptor: BatchDescriptor | None) -> None:
    filled = _WIDTH * done // max(total, 1)
    what = "" if descriptor is None else f" {descriptor}"
    end = "\n" if descriptor is None else ""
    sys.stderr.write(f"\r\x1b[Kcapturing {'█' * filled}{'░' * (_WIDTH - filled)} {done}/{total}{what}{end}")
    sys.stderr.flush()
