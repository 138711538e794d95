"""Capturing a block of the program: entering it, and leaving it with a graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from coldfork.virtual.capturing.graph import Graph
from coldfork.virtual.capturing.memory.ownership import Pool
from coldfork.virtual.capturing.process import HERE
from coldfork.virtual.capturing.recording.host_access import HostAccess
from coldfork.virtual.capturing.recording.recorder import Recorder
from coldfork.virtual.capturing.recording.refusals import invalidated
from coldfork.virtual.capturing.recording.threads import ThreadStarts


@contextmanager
def capturing(pool: Pool | None) -> Iterator[Graph]:
    """Record what the block does on this thread."""
    process = HERE
    graph = Graph(pool if pool is not None else Pool(), process.holdings)
    recorder = Recorder(graph, process.operators, process.shapes, process.places, process.holdings)
    process.enter(recorder)
    failed = True
    try:
        with HostAccess(recorder), ThreadStarts(recorder, process.operators), recorder:
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
