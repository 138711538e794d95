"""A worker on Ray: an actor that is prepared once, and does the tasks that it is sent.

It runs on a node of the cluster, where coldfork and the same Python are installed.
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
    """The pickle, and the content for the memory file beside it, which Ray's object store carries."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a worker runs."""

    pid: int
    node: str
    """The address of its node."""
    node_id: str
    devices: tuple[str, ...]
    """The devices that Ray has given it, by Ray's numbers."""


class TaskActor:
    """The class that Ray runs in a worker's process, call after call, in its main thread."""

    def prepare(self, preload: tuple[str, ...], initializer: bytes | None) -> Whereabouts | str:
        """Get ready for tasks, or return a text that says why that is not possible."""
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
            # There was no room for it, or no descriptor: the task fails as it would on this machine.
            kind, payload = wire.outcome(memoryview(b""), wire.LOST)
        else:
            kind, payload = wire.outcome(memoryview(given.data), given.memory)
        if os.getpid() != home:
            # A child that the task forked has returned from it: the answer is for its parent to give.
            os._exit(0)
        try:
            return number, kind, perf_counter() - began, sent(payload)
        finally:
            payload.close()
            _flush()

    def look(self) -> None:
        """Do nothing: an answer shows that the worker lives."""


def _flush() -> None:
    """Flush what a task has printed, so that it is shown even if the next one ends the process."""
    for stream in (sys.stdout, sys.stderr):
        # A task may have closed the stream, or replaced it.
        with suppress(Exception):
            stream.flush()


def sent(payload: Payload) -> Parcel:
    """Return what is handed to Ray, which copies it."""
    if payload.memory >= 0:
        size = os.fstat(payload.memory).st_size
        pages = mmap.mmap(payload.memory, size, access=mmap.ACCESS_READ)
        return payload.data, (PickleBuffer(pages),)
    return payload.data, tuple(PickleBuffer(piece) for piece in payload.kept)


def received(parcel: Parcel) -> Payload:
    """Put what Ray delivers into a memory file of its own: writable, and not bound to a node."""
    data, pieces = parcel
    payload = Payload(data, kept=tuple(memoryview(piece).cast("B") for piece in pieces))
    payload.open()
    return payload
