"""Record operators instead of executing them: a dispatch mode below autograd."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import torch

from coldfork.virtual.capturing.compiled.kernels import Kernels
from coldfork.virtual.capturing.memory import (
    Holdings,
    Kind,
    Memory,
    Poisoning,
    is_poisoned,
    poison,
    poison_storage,
)
from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.inference import Shapes, UnknownShape
from coldfork.virtual.capturing.operators.schemas import (
    Argument,
    Constant,
    Fresh,
    Operator,
    Operators,
    ResultPlan,
    Same,
    Way,
    tensors_in,
)
from coldfork.virtual.capturing.recording.refusals import invalidated, not_simulated, refusal
from coldfork.virtual.capturing.recording.steps import Steps
from coldfork.virtual.capturing.records import Places, Record, RecordedRegion, Use, as_frame
from coldfork.virtual.errors import CaptureError

_Below = torch._C._AutoDispatchBelowADInplaceOrView
_CHOOSING = frozenset(("cond", "while_loop"))
_NOT_A_SUBCLASS = torch._C._disabled_torch_dispatch_impl


class Recorder(UncompiledMode):
    """A mode that sees each operator of a thread, and of those that work in its place, and records it."""

    supports_higher_order_operators = True

    def __init__(
        self,
        region: RecordedRegion,
        operators: Operators,
        shapes: Shapes,
        kernels: Kernels,
        places: Places,
        holdings: Holdings,
    ) -> None:
        super().__init__()
        self.region = region
        self.threads: set[int] = {threading.get_ident()}
        """The capturing thread, and those that take part while it waits."""
        self.places = places
        self.capturing: bool = True
        """False after the capture, for threads that outlive it."""
        self.broken: CaptureError | None = None
        """The first operation that the device would have refused; nothing after it counts."""
        self._operators = operators
        self.shapes = shapes
        self._kernels = kernels
        self._holdings = holdings
        self._steps = Steps()
        self._memories: dict[int, Memory] = {}
        self._poisoning = Poisoning()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.broken is not None:
            raise invalidated(self.broken)
        for kind in types:
            if kind.__torch_dispatch__ is not _NOT_A_SUBCLASS:
                return NotImplemented
        if not isinstance(func, torch._ops.OpOverload):
            return self._higher_order(func, args, kwargs or {})
        operator = self._operators.of(func)
        way = operator.way
        kwargs = kwargs or {}
        if way is Way.COMPUTE or way is Way.EMPTY:
            with _Below():
                return self._compute(operator, args, kwargs)
        if way is Way.VIEW or way is Way.PASS:
            return operator.call(*args, **kwargs)
        if way is Way.DECOMPOSE:
            with self:
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        if way is Way.RESHAPE:
            return self._reshape(operator, args, kwargs)
        if way is Way.LIFT:
            return self._lift(operator, args, kwargs)
        return self._ask(operator, args, kwargs)

    def _higher_order(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Capture an operator that calls functions by capturing the operators of these functions."""
        if func.name() in _CHOOSING:
            raise self.refuse(func.name(), "reads a value of the device on the host, to choose what runs")
        run = func.py_kernels.get(torch._C.DispatchKey.CompositeExplicitAutograd)
        if run is None:
            raise self.refuse(str(func), "torch has no plain version of it to capture", not_simulated)
        with self:
            return run(*args, **kwargs)

    # --- what is recorded ---------------------------------------------------------------------------------

    def _compute(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        place = self.places.here(3)
        plan = self._plan(operator, args, kwargs)
        records = self.region._records
        number = len(records)
        if operator.outs:
            self._grow(operator, plan, args, kwargs)
        uses: list[Use] = []
        mine = tuple([self._mine(one, uses) for one in args])
        mine_by_name = {name: self._mine(one, uses) for name, one in kwargs.items()} if kwargs else {}
        wrote: list[Use] = []
        spared: list[Use] = []
        read = uses
        if operator.written:
            wrote = _given_for(operator.written, mine, mine_by_name, uses)
            self._require_device_memory(operator, wrote)
            if operator.blind:
                blind = _given_for(operator.blind, mine, mine_by_name, uses)
                spared = self._spared(operator, blind, args, kwargs)
                hidden = {id(use) for use in blind if use not in spared}
                read = [use for use in uses if id(use) not in hidden]
        self._require_no_host_values(read)
        results: list[Any] = []
        fresh: list[Use] = []
        for alias, result in zip(operator.aliases, plan.results, strict=False):
            results.append(
                alias.of(args, kwargs)
                if alias is not None
                else self._make(result, args, kwargs, number, fresh)
            )
        if operator.way is Way.EMPTY:
            step: Any = (poison, (fresh[0].tensor,), {})
        else:
            wrote += fresh
            step = self._steps.step(operator, plan, mine, mine_by_name, fresh)
        record = Record(number, operator, place, step, (read, wrote), plan)
        record.spared = spared
        records.append(record)
        if operator.single:
            return results[0]
        return tuple(results) if results else None

    def _spared(self, operator: Operator, outs: list[Use], args: Any, kwargs: Any) -> list[Use]:
        """Return the outputs that a kernel writes only partly, so that the other parts may be read later."""
        if not operator.is_kernel or not any(use.memory.kind is Kind.OUTSIDE for use in outs):
            return []
        # The outputs are given by name, in the order of the schema, and each is one tensor.
        kept = self._kernels.spared(operator, args, kwargs)
        return [use for use, some in zip(outs, kept, strict=True) if some and use.memory.kind is Kind.OUTSIDE]

    def _plan(self, operator: Operator, args: Any, kwargs: Any) -> ResultPlan:
        try:
            return self.shapes.plan(operator, args, kwargs)
        except UnknownShape as unknown:
            if unknown.waits:
                raise self.refuse(
                    operator.name, "needs the data to know the size of its result, so the host waits for it"
                ) from None
            raise self.refuse(operator.name, str(unknown), not_simulated) from None

    def _mine(self, value: Any, uses: list[Use]) -> Any:
        """Return an argument for the replay that changes of the program's own tensor do not affect."""
        if isinstance(value, torch.Tensor):
            kept = value.detach()
            storage = kept.untyped_storage()
            memory = self._memories.get(storage._cdata)
            if memory is None:
                memory = self._remember(Kind.OUTSIDE, storage, None, kept.dtype)
            memory.held += 1
            memory.block.held += 1
            uses.append(Use(memory, kept))
            return kept
        if type(value) is list or type(value) is tuple:
            return [self._mine(one, uses) for one in value]
        return value

    def _make(self, result: Any, args: Any, kwargs: Any, number: int, fresh: list[Use]) -> Any:
        """Return a result for the program; the graph keeps a separate tensor on the same memory."""
        if isinstance(result, Fresh):
            made, memory = self._allocate(result, number)
            kept = made.detach()
            memory.held += 1
            memory.block.held += 1
            fresh.append(Use(memory, kept))
            return made
        if isinstance(result, list):
            return [self._make(one, args, kwargs, number, fresh) for one in result]
        if isinstance(result, Same):
            return list(tensors_in((args, kwargs)))[result.number]
        assert isinstance(result, Constant)
        return result.value

    # --- memory -------------------------------------------------------------------------------------------

    def _allocate(self, result: Fresh, number: int) -> tuple[Any, Memory]:
        self._holdings.settle()
        block = self.region.pool.take(result.nbytes) if result.nbytes else None
        if block is None:
            made = torch.empty_strided(result.size, result.stride, dtype=result.dtype)
            storage = made.untyped_storage()
            block = self._holdings.block(storage)
            self.region.pool.add(block)
        else:
            made = torch.empty(0, dtype=result.dtype)
            made.set_(block.storage, 0, result.size, result.stride)
        self._poisoning.fill(made, block, result.poison)
        return made, self._adopt(Kind.POOL, block, number, result.dtype)

    def _remember(self, kind: Kind, storage: Any, born: int | None, dtype: Any) -> Memory:
        return self._adopt(kind, self._holdings.block(storage), born, dtype)

    def _adopt(self, kind: Kind, block: Any, born: int | None, dtype: Any) -> Memory:
        memory = Memory(len(self.region._memories), kind, block, born, dtype)
        self.region._memories.append(memory)
        self._memories[block.key] = memory
        return memory

    def _grow(self, operator: Operator, plan: ResultPlan, args: Any, kwargs: Any) -> None:
        """Resize the tensors for results to the sizes and strides that the operator needs."""
        for place, grown in zip(operator.outs, plan.outs, strict=True):
            if grown is not None:
                out = place.of(args, kwargs)
                before = out.untyped_storage().nbytes()
                out.resize_(grown.size)
                if out.stride() != grown.stride:
                    out.as_strided_(grown.size, grown.stride)
                self._claim_growth(operator, out, before)

    def _claim_growth(self, operator: Operator, tensor: Any, before: int) -> None:
        """Claim the memory of a tensor that had none until now."""
        storage = tensor.untyped_storage()
        if storage.nbytes() <= before:
            return
        if before:
            raise self.refuse(
                operator.name,
                "it enlarges memory that is in use; make a new tensor of the full size instead",
                not_simulated,
            )
        poison_storage(storage, tensor.dtype)
        self._remember(Kind.POOL, storage, len(self.region._records), tensor.dtype)

    # --- what is executed at once -------------------------------------------------------------------------

    def _reshape(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        before = tensor.untyped_storage().nbytes()
        result = operator.call(*args, **kwargs)
        if operator.short.startswith("resize"):
            self._claim_growth(operator, tensor, before)
        return result

    def _lift(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        if tensor.dim() and tensor.numel():
            raise self.refuse(*_FROM_HOST)
        memory = self._remember(Kind.CONSTANT, tensor.untyped_storage(), None, tensor.dtype)
        memory.held = 0
        return operator.call(*args, **kwargs)

    def _ask(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        asked = [self._memories.get(one.untyped_storage()._cdata) for one in tensors_in((args, kwargs))]
        if asked and all(memory is not None and memory.kind is Kind.CONSTANT for memory in asked):
            return operator.call(*args, **kwargs)
        what = ".item()" if "local_scalar" in operator.name else operator.name
        raise self.refuse(what, "reads a value of the device on the host")

    # --- what is refused ----------------------------------------------------------------------------------

    def refuse(self, what: str, why: str, kind: Any = refusal) -> CaptureError:
        """Return the device's error; from now on the capture is invalid."""
        error: CaptureError = kind(what, why, as_frame(self.places.here(2)))
        if self.broken is None:
            self.broken = error
        return error

    def kind_of(self, tensor: Any) -> Kind:
        """Return the origin of a tensor's memory, as far as this capture knows it."""
        memory = self._memories.get(tensor.untyped_storage()._cdata)
        return memory.kind if memory is not None else Kind.OUTSIDE

    def _require_device_memory(self, operator: Operator, wrote: list[Use]) -> None:
        for use in wrote:
            if use.memory.kind is Kind.CONSTANT:
                raise self.refuse(
                    f"{operator.name} into a tensor made from a value of the host",
                    "copies from the device to pageable memory; make the tensor before the capture",
                )

    def _require_no_host_values(self, read: list[Use]) -> None:
        """Refuse new memory that holds values, which only the host can have written: nothing ran yet."""
        records = self.region._records
        for use in read:
            born = use.memory.born
            if use.memory.kind is Kind.POOL and born is not None and born < len(records):
                if records[born].operator.way is Way.EMPTY and not is_poisoned(use.tensor):
                    raise self.refuse(*_FROM_HOST)

    def end(self) -> None:
        """End the recording, and drop the data that only recording needs."""
        self.capturing = False
        self._memories.clear()


_FROM_HOST = (
    "a tensor made from values of the host",
    "is copied from pageable memory, for which the host waits; make it before the capture",
)


def _given_for(arguments: Iterable[Argument], args: Any, kwargs: Any, uses: list[Use]) -> list[Use]:
    """Return the tensors passed for some arguments, in order."""
    of_tensor = {id(use.tensor): use for use in uses}
    return [of_tensor[id(one)] for argument in arguments for one in tensors_in(argument.of(args, kwargs))]
