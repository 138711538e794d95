"""The one capture of this process: entering it, leaving it, and refusing a second one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from coldfork.virtual.capturing.errors import CaptureError
from coldfork.virtual.capturing.graph import Graph
from coldfork.virtual.capturing.memory.ownership import Holdings, Pool
from coldfork.virtual.capturing.operators.inference import Shapes
from coldfork.virtual.capturing.operators.schemas import Operators
from coldfork.virtual.capturing.places import Places, as_frame
from coldfork.virtual.capturing.recording.host_access import HostDoors
from coldfork.virtual.capturing.recording.recorder import Recorder
from coldfork.virtual.capturing.recording.refusals import invalidated, refusal
from coldfork.virtual.capturing.recording.threads import ThreadDoors


class _Process:
    """What captures of one process share: only one runs at a time, and shapes are learned once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.recorder: Recorder | None = None
        self.operators = Operators()
        self.shapes = Shapes()
        self.places = Places()
        self.holdings = Holdings()

    def enter(self, recorder: Recorder) -> None:
        with self.lock:
            current = self.recorder
            if current is not None:
                if current.thread == threading.get_ident():
                    raise refusal(
                        "a second capture", "began inside another one", as_frame(self.places.here())
                    )
                raise CaptureError("another thread is capturing; a device captures one graph at a time")
            self.recorder = recorder

    def leave(self) -> None:
        with self.lock:
            self.recorder = None


_PROCESS = _Process()


@contextmanager
def capturing(pool: Pool | None) -> Iterator[Graph]:
    """Record what the block does on this thread."""
    process = _PROCESS
    graph = Graph(pool if pool is not None else Pool(), process.holdings)
    recorder = Recorder(graph, process.operators, process.shapes, process.places, process.holdings)
    process.enter(recorder)
    failed = True
    try:
        with HostDoors(recorder), ThreadDoors(recorder, process.operators), recorder:
            yield graph
        if recorder.broken is not None:
            raise invalidated(recorder.broken)
        failed = False
        graph.pool.graphs += 1
    finally:
        process.leave()
        recorder.end()
        process.holdings.watch(graph, graph._memories)
        graph.finish(failed)


def refuse_while_capturing(what: str) -> None:
    """Raise what a device raises if this thread is capturing."""
    recorder = _PROCESS.recorder
    if recorder is not None and recorder.thread == threading.get_ident():
        raise recorder.refuse(what, "is work that a capture cannot hold")
