"""The graph manager: captures graphs on a state that warm-up did not use, and replays them."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from types import MappingProxyType
from typing import Any, Literal

import torch

from coldfork.graphs import batches, engines
from coldfork.graphs.batches import (
    Around,
    AroundWarmUp,
    CapturedBatch,
    Capturing,
    Manner,
    Prepare,
    making,
    nothing_around,
    unguarded,
)
from coldfork.graphs.descriptors import (
    BatchDescriptor,
    CreateForward,
    CreateForwardOn,
    Mode,
    Rule,
    StatePair,
    Table,
    in_place_of,
)
from coldfork.graphs.errors import (
    BusyError,
    CaptureFailedError,
    DeviceLostError,
    GraphError,
    LeakError,
    LeakWarning,
    MemoryBudgetError,
    NotCapturedError,
    NotComparedError,
)
from coldfork.graphs.findings import Report
from coldfork.graphs.memory_use import added_by, estimated, require_within
from coldfork.graphs.outputs import Generation
from coldfork.graphs.passes import Inputs, Make, Moved, Recipes, StaticInputs
from coldfork.graphs.surroundings import Inspection, Progress, no_collection, teller
from coldfork.virtual.capturing import ErrorMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.graphs.checking import Checker

_AS_CAPTURED = object()
_NOTHING_ALLOWED: Mapping[str, str] = MappingProxyType({})


class GraphManager:
    """Captures one graph for each batch descriptor, and replays them.

    For each batch, `create_forward(descriptor, phase)` is called twice, and must make new state each time.
    The first forward function runs eagerly, so that everything that is initialised on first use gets
    initialised. The second is captured with a state that no warm-up has touched, so the graph contains the
    work that initialises this state.

    `device` is a CUDA device, or `"cpu"` for virtual capture. With `check="error"` or `"warn"`, each capture
    is checked for remains of the warm-up; `persistent` are the tensors that both may use, because the program
    itself keeps them up to date. Anything that could not be compared counts as a leak, unless `allow` names
    it with a reason: `allow={"lengths": "always full in this test"}`.

    `rule` yields the batches that may run in place of one that was not captured, the best first.
    `pool` and `stream` may be the caller's own; `stream` may be a function that returns one for each batch.
    `around(descriptor)` returns a context manager that is entered around each capture. An engine with its own
    way of capturing passes `capturing(descriptor, pool)`, which returns a context manager that yields the
    graph and chooses stream, error mode and pool. A batch is warmed up `warmups` times, each time inside the
    context manager `around_warmup(descriptor, number)`, in which ranks can wait for each other and a
    warm-up's changes can be undone.

    Forward functions run under `grad_mode`. With `weak_outputs`, other graphs may reuse the memory of
    outputs; with `guard_outputs`, reading an overwritten output raises an error. `moved` decides what a
    replay does if the tensors of `inputs=` have moved in memory: `"ignore"` it, raise an `"error"`, or
    `"record"` the batch again.
    """

    def __init__(
        self,
        device: Any = "cuda",
        pool: Any = None,
        *,
        check: Literal["error", "warn", "off"] = "off",
        persistent: Iterable[Any] = (),
        allow: Mapping[str, str] = _NOTHING_ALLOWED,
        rule: Rule = in_place_of,
        stream: Any = None,
        around: Around = nothing_around,
        warmups: int = 1,
        around_warmup: AroundWarmUp = nothing_around,
        capturing: Capturing | None = None,
        capture_error_mode: ErrorMode = "global",
        grad_mode: Callable[[], AbstractContextManager[Any]] = torch.no_grad,
        weak_outputs: bool = False,
        guard_outputs: bool = False,
        moved: Moved = "ignore",
    ) -> None:
        if check not in ("error", "warn", "off"):
            raise ValueError(f"check is 'error', 'warn' or 'off', not {check!r}")
        if warmups < 1:
            raise ValueError(f"warmups is at least 1, not {warmups}")
        self._engine = engines.engine_for(device, stream, capture_error_mode)
        self._own_pool = pool is None
        self._pool = self._engine.new_pool() if pool is None else pool
        # With weak outputs, graphs share the memory of outputs, so any replay may overwrite all outputs.
        shared = Generation()
        generation = (lambda: shared) if weak_outputs else Generation
        guards = generation if guard_outputs else unguarded
        self._manner = Manner(around, warmups, around_warmup, capturing, grad_mode, weak_outputs, guards)
        self._recipes = Recipes(moved)
        self._check = check
        self._persistent = tuple(persistent)
        self._allow = dict(allow)
        self._captured: dict[BatchDescriptor, CapturedBatch] = {}
        self._rule = rule
        self._table = Table((), rule)
        self._lock = threading.Lock()
        self._doing = ""
        self._lost: BaseException | None = None
        self.failed: dict[BatchDescriptor, BaseException] = {}
        """The batches whose capture failed, with the errors, if the other batches were kept."""

    # --- capturing ----------------------------------------------------------------------------------------

    def capture(
        self,
        create_forward: CreateForward | CreateForwardOn,
        descriptors: Iterable[BatchDescriptor],
        *,
        inputs: Inputs | None = None,
        prepare: Prepare | None = None,
        states: Mapping[BatchDescriptor, StatePair] | None = None,
        progress: Progress | bool = True,
        on_failure: Literal["rollback", "keep"] = "rollback",
        memory_budget: int | None = None,
    ) -> Mapping[BatchDescriptor, StatePair]:
        """Capture a graph for each descriptor, the largest first; return the states by descriptor.

        `states` are another manager's states: `create_forward` then gets a third argument, the other state
        for the same descriptor and phase. `inputs(descriptor)` returns the tensors that `replay` fills, by
        name; a check fills them by `prepare(descriptor, seed)` if given. If a batch fails, or would make the
        manager's graphs exceed `memory_budget` bytes, `on_failure="rollback"` discards the graphs of this
        call and raises an error; `"keep"` records the batch in `failed` and continues. The manager does not
        keep the warm-up's state: it lives as long as you keep the pair that contains it.
        """
        wanted = self._in_order(descriptors)
        fed = None if inputs is None else [one for each in wanted for one in inputs(each).items()]
        make = making(create_forward, states)
        checker: Checker | None = None
        done: dict[BatchDescriptor, StatePair] = {}
        tell = teller(progress)
        with self._busy("capturing"), no_collection(), ExitStack() as stack:
            if self._check != "off":
                # Imported here, so that processes that only serve do not load the checking code.
                checking = importlib.import_module("coldfork.graphs.checking")
                checker = checking.Checker(
                    make, wanted, self._engine, self._persistent, fed, self._allow, self._manner, prepare
                )
                stack.enter_context(closing(checker))
            for number, descriptor in enumerate(wanted):
                tell(number, len(wanted), descriptor)
                buffers = StaticInputs(descriptor, inputs(descriptor) if inputs is not None else {})
                try:
                    done[descriptor] = self._capture_one(descriptor, make, buffers, checker)
                    require_within(memory_budget, self.memory, descriptor)
                except (CaptureFailedError, LeakError, MemoryBudgetError) as error:
                    self._note_failure(descriptor, error, done, keep=on_failure == "keep")
                else:
                    self._recipes.keep(descriptor, make, inputs)
            tell(len(wanted), len(wanted), None)
        return done

    def estimate(
        self,
        create_forward: CreateForward | CreateForwardOn,
        descriptors: Iterable[BatchDescriptor],
        *,
        states: Mapping[BatchDescriptor, StatePair] | None = None,
    ) -> int:
        """Return how many bytes of memory the graphs of these batches would take.

        For this, up to three batches of each mode are captured in a separate pool and discarded.
        """
        make = making(create_forward, states)

        def measured(sample: list[BatchDescriptor]) -> Mapping[BatchDescriptor, int]:
            return added_by(sample, make, self._engine, self._manner)

        with self._busy("estimating"), no_collection():
            return estimated(self._in_order(descriptors), measured)

    def _capture_one(
        self, descriptor: BatchDescriptor, make: Make, buffers: StaticInputs, checker: Checker | None
    ) -> StatePair:
        inspection = Inspection() if checker is None else checker.inspector
        batch, states, self._pool = batches.capture(
            descriptor, make, self._engine, self._pool, buffers, inspection, self._manner
        )
        if checker is not None:
            report = checker.report(batch)
            if report.answer != "clean":
                self._tell(report)
        self._captured[descriptor] = batch
        return states

    def _tell(self, report: Report) -> None:
        if self._check == "error":
            raise LeakError(report) if report.leaks else NotComparedError(report)
        warnings.warn(str(report), LeakWarning, stacklevel=4)

    def _note_failure(
        self,
        descriptor: BatchDescriptor,
        error: GraphError,
        done: dict[BatchDescriptor, StatePair],
        *,
        keep: bool,
    ) -> None:
        if error.__cause__ is not None and engines.is_lost(error.__cause__):
            self._lost = error.__cause__
        for one in (descriptor,) if keep else (*done, descriptor):
            self._forget(one)
            done.pop(one, None)
        if not keep:
            raise error
        self.failed[descriptor] = error

    def _forget(self, descriptor: BatchDescriptor) -> None:
        self._captured.pop(descriptor, None)
        self._recipes.forget(descriptor)
        if not self._captured and self._own_pool:
            # The device rejects a pool whose last graph has been released.
            self._pool = self._engine.new_pool()

    def _in_order(self, descriptors: Iterable[BatchDescriptor]) -> list[BatchDescriptor]:
        wanted = list(dict.fromkeys(descriptors))
        for descriptor in wanted:
            if descriptor.mode is Mode.NONE:
                raise GraphError(f"{descriptor} runs eagerly; there is nothing to capture")
            if descriptor in self._captured:
                raise GraphError(f"{descriptor} is captured already; release() it first")
        # The largest batches come first, because smaller ones can reuse their memory.
        return sorted(wanted, key=lambda one: (one.mode is Mode.FULL, -one.tokens, -one.size[1]))

    # --- using the graphs ---------------------------------------------------------------------------------

    @property
    def descriptors(self) -> tuple[BatchDescriptor, ...]:
        """The captured batches, the largest first."""
        return tuple(sorted(self._captured, key=lambda one: one.size, reverse=True))

    @property
    def pool(self) -> Any:
        """The graphs' memory pool, for other captures to share; None before the first virtual capture."""
        return self._pool

    @property
    def memory(self) -> Mapping[BatchDescriptor, int]:
        """The bytes that each capture added to the graphs' memory; their sum is the memory of all graphs."""
        return {one: batch.nbytes for one, batch in self._captured.items()}

    def dispatch(self, descriptor: BatchDescriptor) -> BatchDescriptor | None:
        """Return the captured batch to run a batch in, padded if necessary; None if it must run eagerly."""
        return self._table.find(descriptor)

    def buffers(self, descriptor: BatchDescriptor) -> Mapping[str, Any]:
        """Return the input tensors of a captured batch, for the caller to write in place."""
        return self._batch(descriptor).inputs.as_mapping()

    def replay(self, descriptor: BatchDescriptor, /, *, state: Any = _AS_CAPTURED, **inputs: Any) -> Any:
        """Copy the inputs into the batch's buffers, replay its graph, and return its static outputs.

        The next replay overwrites the outputs. If the batch is captured in pieces, `current_state()` returns
        `state` to the code between the pieces in this step.
        """
        batch = self._batch(descriptor)
        if not self._lock.acquire(blocking=False):
            raise BusyError(f"this manager is {self._doing} already; one graph runs at a time")
        try:
            self._doing = "replaying"
            if self._lost is not None:
                self._refuse_lost()
            if self._recipes.matter:
                batch = self._where_its_inputs_are(batch)
            if inputs:
                batch.inputs.fill(inputs)
            return batch.replay() if state is _AS_CAPTURED else batch.replay_pieces(state)
        except Exception as error:
            if engines.is_lost(error):
                self._lost = error
                self._refuse_lost()
            raise
        finally:
            self._lock.release()

    def release(self, *descriptors: BatchDescriptor) -> None:
        """Release the graphs of these batches, or all graphs."""
        with self._busy("releasing graphs"):
            for descriptor in descriptors or tuple(self._captured):
                self._batch(descriptor)
                self._forget(descriptor)

    def _where_its_inputs_are(self, batch: CapturedBatch) -> CapturedBatch:
        """Return the batch, after capturing it again if its inputs have moved in memory."""
        anew = self._recipes.anew(batch.descriptor, batch.inputs)
        if anew is None:
            return batch
        with no_collection():
            self._capture_one(batch.descriptor, *anew, None)
        return self._captured[batch.descriptor]

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
            raise BusyError(f"this manager is {self._doing} already; {doing} has to wait until that ends")
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
