"""Streams and events: a name for the default stream, and refusals for the work that others would carry."""

from __future__ import annotations

import itertools
import sys
import time
from types import ModuleType
from typing import Any

from coldfork.virtual.errors import NotSimulatedError
from coldfork.virtual.machine import Machine
from coldfork.virtual.pytorch.functions import CUDA, INSTEAD, refusal


def stand_in_streams(compiled: ModuleType, machine: Machine) -> None:
    """Give torch's stand-ins for the classes below `torch.cuda.Stream` and `torch.cuda.Event` a behaviour.

    They are changed and not replaced, because `torch.cuda.Stream` was derived from them when it was imported.
    """
    for name, behaviour in (("_CudaStreamBase", _stream(machine)), ("_CudaEventBase", _event(machine))):
        kind = getattr(compiled, name, None)
        if isinstance(kind, type) and "__new__" in vars(kind):
            for attribute, value in behaviour.items():
                setattr(kind, attribute, value)


def _stream(machine: Machine) -> dict[str, object]:
    """The default stream of a device is always there, and nothing is ever queued in it."""

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
    """An event can be made, as that touches nothing; recording it needs work that it could mark."""
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
    """Nothing is ever queued, so that there is nothing to wait for."""


def _note_time(event: Any, stream: object = None) -> None:
    event.recorded = time.perf_counter()


def _elapsed(event: Any, end: Any) -> float:
    if event.recorded is None or end.recorded is None:
        raise RuntimeError("Both events must be recorded before calculating elapsed time.")
    return float(end.recorded - event.recorded) * 1000
