"""Tensors, graphs and streams: they wake the device like real ones, and then refuse to work."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from coldfork.virtual.errors import NotSimulatedError
from coldfork.virtual.machine import Machine
from coldfork.virtual.pytorch.functions import CUDA, INSTEAD, lazy_init, refusal

_CLASSES = {
    "_CUDAGraph": "torch.cuda.CUDAGraph",
    "_MemPool": "torch.cuda.MemPool",
    "_graph_pool_handle": "torch.cuda.graph_pool_handle()",
    "_cuda_CUDAAllocator": "torch.cuda.memory.CUDAPluggableAllocator",
    "_cuda_beginAllocateToPool": "torch.cuda.use_mem_pool()",
    "_cuda_beginAllocateCurrentThreadToPool": "torch.cuda.use_mem_pool()",
    "_cuda_endAllocateToPool": "torch.cuda.use_mem_pool()",
    "_cuda_releasePool": "torch.cuda.use_mem_pool()",
}
"""The stand-ins of a CPU build for classes of CUDA builds, with their names for users."""


def refuse_classes(compiled: ModuleType) -> None:
    """Make torch's stand-ins for CUDA's classes raise an error, because these are not simulated."""
    for name, what in _CLASSES.items():
        kind = getattr(compiled, name, None)
        # Only stand-ins are left, because the real classes of a CUDA build have been removed.
        if isinstance(kind, type) and "__new__" in vars(kind):
            kind.__new__ = _refusing(what)  # type: ignore[assignment, method-assign]


def _refusing(what: str) -> Callable[..., object]:
    def __new__(*_: object, **__: object) -> object:  # noqa: N807 (that is what it is)
        raise NotSimulatedError(what, INSTEAD)

    return __new__


def refuse_tensors(cuda: ModuleType, machine: Machine) -> None:
    """Refuse tensors on the device at the moment when torch's C++ part prepares to make one.

    Before it makes a tensor, the C++ part calls `torch.cuda._lazy_init`, until one of the calls succeeds.
    Python code that has nothing to do with tensors calls the function too, but such code contains its name.
    So a caller whose code does not contain the name has asked for a tensor.

    torch.cuda itself finds the name among its globals, where the function is unchanged. Only code that reads
    it as an attribute of the module, as C++ does, gets the replacement.
    """

    def _lazy_init() -> None:
        lazy_init()
        if "_lazy_init" not in sys._getframe(1).f_code.co_names:
            machine.driver.retain(machine.chosen)
            raise NotSimulatedError("tensors on the device", INSTEAD)

    def replace(module: ModuleType, value: object) -> None:
        vars(module)["_lazy_init"] = value

    attribute = property(lambda module: _lazy_init, replace)
    cuda.__class__ = type(cuda.__name__, (type(cuda),), {"_lazy_init": attribute})


def spare_fake_tensors(fake_tensor: ModuleType, machine: Machine) -> None:
    """Keep fake tensors away from a device that cannot hold tensors, but let them wake it as usual."""
    _avoid_making_tensors(fake_tensor.FakeTensorMode)
    initialise: Callable[[Any], None] | None = getattr(fake_tensor, "init_gpu_context", None)
    name = "init_gpu_context"
    if initialise is None:
        name = "init_cuda_context"
        initialise = getattr(fake_tensor, name, None)
    if initialise is None:
        return

    def init_context(*device: Any) -> None:
        try:
            initialise(*device)
        except (NotSimulatedError, NotImplementedError):
            machine.driver.retain(machine.chosen)

    setattr(fake_tensor, name, init_context)


def _avoid_making_tensors(mode: type) -> None:
    asks = vars(mode).get("avoid_device_init")
    if isinstance(asks, property) and asks.fget is not None:
        ask = asks.fget

        def avoid_device_init(self: object) -> bool:
            # torch's test for a device wakes the device; True then keeps torch from making tensors on it.
            ask(self)
            return True

        mode.avoid_device_init = property(avoid_device_init)  # type: ignore[attr-defined]


def stand_in_streams(compiled: ModuleType, machine: Machine) -> None:
    """Make torch's stand-ins for the base classes of `torch.cuda.Stream` and `torch.cuda.Event` work.

    They are changed, not replaced, because `torch.cuda.Stream` was already derived from them at its import.
    """
    for name, behaviour in (("_CudaStreamBase", _stream(machine)), ("_CudaEventBase", _event(machine))):
        kind = getattr(compiled, name, None)
        if isinstance(kind, type) and "__new__" in vars(kind):
            for attribute, value in behaviour.items():
                setattr(kind, attribute, value)


def _stream(machine: Machine) -> dict[str, object]:
    """Return a stream's methods: a device's default stream always exists, and nothing is queued in it."""

    numbers = itertools.count(1)

    def make(kind: type, priority: int = 0, **words: int) -> object:
        if "stream_id" not in words:
            machine.require_devices()
            machine.driver.retain(machine.chosen)
            if not machine.setup.redirect:
                raise NotSimulatedError("streams other than the default one", INSTEAD)
        made: Any = object.__new__(kind)
        made.priority = priority
        made.stream_id = made.cuda_stream = words["stream_id"] if "stream_id" in words else next(numbers)
        made.device_index = words.get("device_index", machine.chosen)
        made.device_type = CUDA
        made.device = sys.modules["torch"].device("cuda", made.device_index)
        return made

    def same(one: Any, other: Any) -> bool:
        return bool(one.stream_id == other.stream_id and one.device == other.device)

    return {
        "__new__": make,
        "__init__": _nothing,
        "__eq__": same,
        "__hash__": lambda stream: hash((stream.stream_id, stream.device_index)),
        "query": lambda _: True,
        "synchronize": _nothing,
        "priority_range": lambda *_: (0, -5),
    }


def _event(machine: Machine) -> dict[str, object]:
    """Return the methods of an event: making one touches nothing; recording it needs work to mark."""
    redirect = machine.setup.redirect

    def make(kind: type, **_: object) -> object:
        made: Any = object.__new__(kind)
        made.recorded = None
        return made

    return {
        "__new__": make,
        "__init__": _nothing,
        "cuda_event": 0,
        "record": _note_time if redirect else refusal("recording an event"),
        "wait": _nothing,
        "query": lambda _: True,
        "synchronize": _nothing,
        "elapsed_time": _elapsed if redirect else refusal("the time between events"),
        "ipc_handle": refusal("an event shared between processes"),
    }


def _nothing(*_: object, **__: object) -> None:
    """Return at once: nothing is ever queued, so there is nothing to wait for."""


def _note_time(event: Any, stream: object = None) -> None:
    event.recorded = time.perf_counter()


def _elapsed(event: Any, end: Any) -> float:
    if event.recorded is None or end.recorded is None:
        raise RuntimeError("Both events must be recorded before calculating elapsed time.")
    return float(end.recorded - event.recorded) * 1000
