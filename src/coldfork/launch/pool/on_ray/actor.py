"""A worker on Ray: an actor that is prepared once and then does the tasks that it receives.

It runs on a node of the cluster, where coldfork and the same Python must be installed.
"""

from __future__ import annotations

import importlib
import mmap
import os
import pickle
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pickle import PickleBuffer
from time import perf_counter

from coldfork.launch.pool import wire
from coldfork.launch.pool.payload import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Parcel: TypeAlias = tuple[bytes, tuple[Any, ...]]
    """A pickle, and the content of the memory file that goes with it, as Ray's object store carries them."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The place where a worker runs: its node, process and devices."""

    pid: int
    node: str
    """The address of its node."""
    node_id: str
    devices: tuple[str, ...]
    """The devices that Ray has assigned to it, by Ray's numbers."""


class TaskActor:
    """The class that Ray instantiates in a worker process; its methods run one by one, in the main thread."""

    def prepare(self, preload: tuple[str, ...], initializer: bytes | None) -> Whereabouts | str:
        """Get ready for tasks; return the worker's place, or a text that says why that failed."""
        doing = ""
        try:
            for module in preload:
                doing = f"the preload import of {module}"
                importlib.import_module(module)
            doing = "the initializer"
            if initializer is not None:
                function, arguments = pickle.loads(initializer)
                function(*arguments)
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            return f"{doing} raised:\n{text[-wire.LONGEST_TEXT :]}"
        import ray

        context = ray.get_runtime_context()
        devices = tuple(map(str, context.get_accelerator_ids().get("GPU", ())))
        return Whereabouts(os.getpid(), ray.util.get_node_ip_address(), context.get_node_id(), devices)

    def work(self, number: int, parcel: Parcel) -> tuple[int, int, float, Parcel]:
        """Do a task; return its number, how it ended, how long it took, and its result."""
        home, began = os.getpid(), perf_counter()
        try:
            given = received(parcel)
        except OSError:
            # This process had no memory or descriptor for the task's data, so the task fails, as it would in
            # a local worker.
            kind, payload = wire.outcome(memoryview(b""), wire.LOST)
        else:
            kind, payload = wire.outcome(memoryview(given.data), given.memory)
        if os.getpid() != home:
            # A child that the task forked has returned here: only its parent may answer.
            os._exit(0)
        try:
            return number, kind, perf_counter() - began, sent(payload)
        finally:
            payload.close()
            _flush()

    def look(self) -> None:
        """Do nothing: an answer to this call shows Ray that the worker lives."""


def _flush() -> None:
    """Flush a task's output, so that it is shown even if the next task ends the process."""
    for stream in (sys.stdout, sys.stderr):
        # A task may have closed or replaced the stream.
        with suppress(Exception):
            stream.flush()


def sent(payload: Payload) -> Parcel:
    """Return a payload in the form that is passed to Ray, which copies it."""
    if payload.memory >= 0:
        size = os.fstat(payload.memory).st_size
        pages = mmap.mmap(payload.memory, size, access=mmap.ACCESS_READ)
        return payload.data, (PickleBuffer(pages),)
    return payload.data, tuple(PickleBuffer(piece) for piece in payload.kept)


def received(parcel: Parcel) -> Payload:
    """Copy a parcel from Ray into a memory file of its own, which is writable and independent of Ray."""
    data, pieces = parcel
    payload = Payload(data, kept=tuple(memoryview(piece).cast("B") for piece in pieces))
    payload.open()
    return payload
