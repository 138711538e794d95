"""A captured graph: recorded work that can be replayed repeatedly on the same memory."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from coldfork.virtual.capturing.compiled.calls import CompiledCalls
from coldfork.virtual.capturing.compiled.kernels import Kernels
from coldfork.virtual.capturing.memory import Holdings, Kind, Pool
from coldfork.virtual.capturing.operators.inference import Shapes
from coldfork.virtual.capturing.operators.schemas import Operators
from coldfork.virtual.capturing.recording.bypasses import CompilerAccess, HostAccess, watched_threads
from coldfork.virtual.capturing.recording.recorder import Recorder
from coldfork.virtual.capturing.recording.refusals import invalidated, not_simulated, refusal
from coldfork.virtual.capturing.records import Places, RecordedRegion, as_frame
from coldfork.virtual.capturing.replay import PoisonRead, execute, explain, require_sizes
from coldfork.virtual.errors import POOL_IS_GONE, CaptureError, ReplayError


class Graph(RecordedRegion):
    """The recorded work of a captured region, to be executed on the same memory as often as requested."""

    def __init__(self, pool: Pool, holdings: Holdings) -> None:
        super().__init__(pool, holdings)
        self.replays: int = 0
        """The number of replays so far."""
        self._lock = threading.Lock()

    def replay(self) -> None:
        """Execute the recorded work, on the memory used at its capture."""
        self._require_ready()
        with self._lock:
            self._poison_freed()
            execute(self._records)
            if not self.replays:
                require_sizes(self._records)
            self.replays += 1

    def explain_poison(self, tensor: Any = None) -> PoisonRead | None:
        """Return the operator whose read of uninitialised memory put poison into this tensor, with its line.

        Without a tensor, return the first operator of the graph that read uninitialised memory. Return None
        if there is none. The graph is replayed once for this; all memory is left as it was.
        """
        self._require_ready()
        with self._lock:
            self._poison_freed()
            return explain(self, tensor)

    def _poison_freed(self) -> None:
        self._holdings.settle()
        for memory in self._outside:
            memory.poison_if_freed()

    def reset(self) -> None:
        """Drop the records and release their memory; the graph cannot be replayed any more."""
        self._require_ready()
        self._drop()
        self.pool.leave(self)
        self._state = "reset"

    def lend(self, tensor: Any) -> Any:
        """Return a tensor for the same memory that lets other graphs of the pool reuse it.

        The tensor's content is valid until one of these graphs is replayed.
        """
        key = tensor.untyped_storage()._cdata
        memory = next((one for one in reversed(self._memories) if one.key == key), None)
        if memory is None or memory.kind is not Kind.POOL:
            return tensor
        lent = tensor.detach()
        memory.held += 1
        memory.block.held += 1
        return lent

    def _require_ready(self) -> None:
        refuse_while_capturing("replaying a graph")
        if self._state != "ready":
            raise ReplayError(
                {
                    "capturing": "this graph is still being captured; replay it after the `with` block",
                    "failed": "this graph's capture failed, so there is nothing to replay; capture it again",
                    "reset": "this graph was reset; capture it again",
                }[self._state]
            )

    def __repr__(self) -> str:
        return f"<captured graph, {len(self._records)} operators, {self._state}>"


@contextmanager
def capturing(pool: Pool | None, error_mode: str = "global") -> Iterator[Graph]:
    """Record the work of the block on this thread."""
    process = HERE
    if error_mode not in ("global", "thread_local", "relaxed"):
        raise ValueError(f"error_mode is 'global', 'thread_local' or 'relaxed', not {error_mode!r}")
    if pool is not None and pool.gone:
        raise CaptureError(POOL_IS_GONE)
    graph = Graph(pool if pool is not None else Pool(), process.holdings)
    recorder = Recorder(
        graph, process.operators, process.shapes, process.kernels, process.places, process.holdings
    )
    process.enter(recorder)
    failed = True
    try:
        with (
            HostAccess(recorder),
            CompilerAccess(recorder),
            watched_threads(recorder, process.operators) if error_mode == "global" else nullcontext(),
            process.compiled_calls.shown(lambda what, why: recorder.refuse(what, why, not_simulated)),
            recorder,
        ):
            yield graph
        if recorder.broken is not None:
            raise invalidated(recorder.broken)
        failed = False
        graph.pool.enter(graph)
    finally:
        process.leave()
        recorder.end()
        process.holdings.watch(graph, graph._memories)
        graph.finish(failed)


class ProcessCaptures:
    """The shared state of a process's captures: only one capture runs at a time, and shapes are
    remembered.
    """

    def __init__(self) -> None:
        self.lock: threading.Lock = threading.Lock()
        self.recorder: Recorder | None = None
        self.operators: Operators = Operators()
        self.shapes: Shapes = Shapes()
        self.places: Places = Places()
        self.holdings: Holdings = Holdings()
        self.kernels: Kernels = Kernels()
        self.compiled_calls: CompiledCalls = CompiledCalls(self.kernels)

    def enter(self, recorder: Recorder) -> None:
        with self.lock:
            current = self.recorder
            if current is not None:
                if threading.get_ident() in current.threads:
                    raise refusal(
                        "a second capture", "began inside another one", as_frame(self.places.here())
                    )
                raise CaptureError("another thread is capturing; a device captures one graph at a time")
            self.recorder = recorder

    def leave(self) -> None:
        with self.lock:
            self.recorder = None


# Shared by the whole process, because a device captures one graph at a time.
HERE = ProcessCaptures()


def compiled_graphs_shown() -> AbstractContextManager[None]:
    """Let the modes of this thread see the operators of compiled graphs that run outside captures."""
    if "torch._dynamo" in sys.modules:
        # The modes should also see graphs that are compiled within the block.
        importlib.import_module("torch._inductor.output_code")
    return HERE.compiled_calls.shown()


@contextmanager
def taking_part(thread: int) -> Iterator[None]:
    """Let this thread work in the place of another one, which waits, also in that one's capture."""
    recorder = HERE.recorder
    threads = recorder.threads if recorder is not None and thread in recorder.threads else set[int]()
    threads.add(threading.get_ident())
    try:
        with HERE.compiled_calls.shown_as(thread):
            yield
    finally:
        threads.discard(threading.get_ident())


def refuse_while_capturing(what: str) -> None:
    """Raise the error of a device if this thread is capturing."""
    recorder = HERE.recorder
    if recorder is not None and threading.get_ident() in recorder.threads:
        raise recorder.refuse(what, "is work that a capture cannot hold")
