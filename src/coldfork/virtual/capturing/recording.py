"""Recording operators instead of executing them: a dispatch mode below autograd."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from coldfork.virtual.capturing.errors import CaptureRefusedError, NotCapturableError
from coldfork.virtual.capturing.graph import Graph, Record, Use
from coldfork.virtual.capturing.memory import Kind, Memory, allocate, poison, poison_bytes
from coldfork.virtual.capturing.operators import Operator, Operators, Way, out_variant
from coldfork.virtual.capturing.places import Place, Places, as_frame, written
from coldfork.virtual.capturing.refusing import invalidated, refusal
from coldfork.virtual.capturing.replaying import copying
from coldfork.virtual.capturing.shapes import Constant, Fresh, Plan, Same, Shapes, Unknown, mapped, tensors_in

_OVERWRITES = frozenset(
    ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "cauchy_", "log_normal_")
)
"""In place, and blind to what was there before."""


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Sees each operator of one thread, and keeps it for the replay."""

    def __init__(self, graph: Graph, operators: Operators, shapes: Shapes, places: Places) -> None:
        super().__init__()
        self.graph = graph
        self.thread = threading.get_ident()
        self.broken: CaptureRefusedError | None = None
        """The first thing that the device would have refused; nothing after it counts."""
        self._operators = operators
        self._shapes = shapes
        self.places = places
        self._memories: dict[int, Memory] = {}
        self._variants: dict[Operator, Any] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import its compiler here, only to tell it not to look."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.broken is not None:
            raise invalidated(self.broken)
        for kind in types:
            if kind.__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl:
                return NotImplemented
        kwargs = kwargs or {}
        operator = self._operators.of(func)
        way = operator.way
        if way is Way.COMPUTE or way is Way.EMPTY:
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

    # --- what is recorded ---------------------------------------------------------------------------------

    def _compute(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        place = self.places.here(3)
        self._require_plain(operator, args, kwargs, place)
        plan = self._plan(operator, args, kwargs, place)
        number = len(self.graph._records)
        for out, grown in zip(operator.outs, plan.outs, strict=True):
            if grown is not None:
                self._grow(out.of(args, kwargs), grown, number)
        mine, mine_by_name = mapped(args, _snapshot), mapped(kwargs, _snapshot)
        written_to = [one.of(args, kwargs) for one in operator.written]
        wrote = [
            self._use(there, here, number)
            for one, there in zip(operator.written, written_to, strict=True)
            for there, here in zip(tensors_in(there), tensors_in(one.of(mine, mine_by_name)), strict=True)
        ]
        self._require_device_memory(operator, wrote, place)
        read = self._read(operator, (args, kwargs), (mine, mine_by_name), written_to)
        results: list[Any] = []
        buffers: list[Any] = []
        for alias, result in zip(operator.aliases, plan.results, strict=False):
            if alias is not None:
                results.append(alias.of(args, kwargs))
                buffers.append(None)
            else:
                made, kept = self._make(result, args, kwargs)
                results.append(made)
                buffers.append(kept)
        fresh = list(tensors_in(buffers))
        wrote.extend(Use(self._claim(kept, number), kept) for kept in fresh)
        step = self._step(operator, mine, mine_by_name, fresh, tuple(buffers))
        used = (tuple(read), () if operator.way is Way.EMPTY else tuple(wrote))
        self.graph._records.append(Record(number, operator.name, place, step, used, operator.random))
        if not results:
            return None
        return results[0] if operator.single else tuple(results)

    def _plan(self, operator: Operator, args: Any, kwargs: Any, place: Place | None) -> Plan:
        try:
            return self._shapes.plan(operator, args, kwargs)
        except Unknown as unknown:
            if operator.refusable:
                raise self.refuse(
                    operator.name, "needs the data to know the size of its result, so the host waits for it"
                ) from None
            raise NotCapturableError(
                f"{operator.name} at {written(as_frame(place))} cannot be captured virtually: {unknown}"
            ) from None

    def _make(self, result: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """A result for the program, and the graph's own tensor for the same memory."""
        if isinstance(result, Fresh):
            made = allocate(result.size, result.stride, result.dtype)
            return made, made.detach()
        if isinstance(result, list):
            pairs = [self._make(one, args, kwargs) for one in result]
            return [made for made, _ in pairs], [kept for _, kept in pairs]
        if isinstance(result, Same):
            return list(tensors_in((args, kwargs)))[result.number], None
        assert isinstance(result, Constant)
        return result.value, None

    def _step(self, operator: Operator, args: Any, kwargs: Any, fresh: list[Any], buffers: Any) -> Any:
        if operator.way is Way.EMPTY:
            return poison, (fresh[0],), {}
        if not fresh:
            return operator.call, args, kwargs
        if operator not in self._variants:
            self._variants[operator] = out_variant(operator)
        variant = self._variants[operator]
        if variant is not None:
            call, names = variant
            return call, args, kwargs | dict(zip(names, fresh, strict=True))
        return copying(operator.call, operator.single, buffers), args, kwargs

    # --- memory -------------------------------------------------------------------------------------------

    def _use(self, tensor: Any, mine: Any, number: int) -> Use:
        storage = tensor.untyped_storage()
        memory = self._memories.get(storage._cdata)
        if memory is None:
            memory = self._remember(Kind.OUTSIDE, storage, None)
        return Use(memory, mine)

    def _claim(self, tensor: Any, number: int) -> Memory:
        return self._remember(Kind.POOL, tensor.untyped_storage(), number)

    def _remember(self, kind: Kind, storage: Any, born: int | None) -> Memory:
        memory = Memory(len(self.graph._memories), kind, storage, born)
        self.graph._memories.append(memory)
        self._memories[storage._cdata] = memory
        return memory

    def _read(self, operator: Operator, given: Any, mine: Any, written_to: list[Any]) -> list[Use]:
        blind = operator.outs or operator.name.split("::")[1].split(".")[0] in _OVERWRITES
        skipped = {id(one) for one in tensors_in(written_to)} if blind else set()
        number = len(self.graph._records)
        return [
            self._use(there, here, number)
            for there, here in zip(tensors_in(given), tensors_in(mine), strict=True)
            if id(there) not in skipped
        ]

    def _grow(self, out: Any, grown: Fresh, number: int) -> None:
        out.resize_(grown.size)
        poison_bytes(out)
        self._claim(out, number)

    # --- what is executed at once -------------------------------------------------------------------------

    def _reshape(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        before = tensor.untyped_storage().nbytes()
        result = operator.call(*args, **kwargs)
        after = tensor.untyped_storage().nbytes()
        if after > before and operator.name.startswith("aten::resize"):
            if before:
                raise NotCapturableError(
                    f"{operator.name} at {written(as_frame(self.places.here(3)))} enlarges memory that is in "
                    "use; make a new tensor of the full size instead"
                )
            poison_bytes(tensor)
            self._claim(tensor, len(self.graph._records))
        return result

    def _lift(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        if tensor.dim() and tensor.numel():
            raise self.refuse(
                "a tensor made from values of the host",
                "is copied from pageable memory, and the host waits for that; make it before the capture",
            )
        self._remember(Kind.CONSTANT, tensor.untyped_storage(), None)
        return operator.call(*args, **kwargs)

    def _ask(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        asked = [self._memories.get(one.untyped_storage()._cdata) for one in tensors_in((args, kwargs))]
        if asked and all(memory is not None and memory.kind is Kind.CONSTANT for memory in asked):
            return operator.call(*args, **kwargs)
        raise self.refuse(_in_words(operator), "reads a value of the device on the host")

    # --- what is refused ----------------------------------------------------------------------------------

    def refuse(self, what: str, why: str) -> CaptureRefusedError:
        """The device's error; from here on the capture is invalid."""
        error = refusal(what, why, as_frame(self.places.here(2)))
        if self.broken is None:
            self.broken = error
        return error

    def _require_plain(self, operator: Operator, args: Any, kwargs: Any, place: Place | None) -> None:
        for tensor in tensors_in((args, kwargs)):
            if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
                raise NotCapturableError(
                    f"{operator.name} at {written(as_frame(place))} cannot be captured virtually: "
                    f"its argument is {tensor.layout} on {tensor.device}, and only plain CPU tensors are "
                    "simulated"
                )

    def _require_device_memory(self, operator: Operator, wrote: list[Use], place: Place | None) -> None:
        for use in wrote:
            if use.memory.kind is Kind.CONSTANT:
                raise self.refuse(
                    f"{operator.name} into a tensor made from a value of the host",
                    "copies from the device to pageable memory; make the tensor before the capture",
                )

    def end(self) -> None:
        """Let go of what only recording needs."""
        self._memories.clear()


def _snapshot(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _in_words(operator: Operator) -> str:
    return ".item()" if "local_scalar" in operator.name else operator.name
