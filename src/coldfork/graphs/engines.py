"""Engines with the same interface, which capture graphs on a real device, or virtually on CPU tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import torch

from coldfork import virtual
from coldfork.graphs.errors import GraphError
from coldfork.virtual.capturing import ErrorMode
from coldfork.virtual.errors import POOL_IS_GONE

_OF_CAPTURES = ("capturing", "during capture", "capture_", "out of memory")
"""Phrases in errors after which the device itself still works."""


class Graph(Protocol):
    """A captured graph."""

    def replay(self) -> None:
        """Run the graph."""


class VirtualEngine:
    """The engine that captures work on CPU tensors, under the rules of a device."""

    records: bool = True
    """Whether its graphs record their steps."""

    def __init__(self, device: Any, error_mode: ErrorMode = "global") -> None:
        self.device = device
        self._error_mode = error_mode

    def used(self, pool: Any) -> int:
        """Return how many bytes the graphs of a pool have allocated."""
        return 0 if pool is None else int(pool.nbytes)

    def weakly(self, graph: Any, tensor: Any) -> Any:
        """Return a tensor on the same memory that lets other graphs of the pool reuse it."""
        return graph.lend(tensor)

    def new_pool(self) -> Any:
        """Return None, because the first graph creates the pool."""
        return None

    def capture(self, pool: Any, descriptor: Any = None) -> Any:
        """Record the work of the block."""
        return virtual.capture(pool, error_mode=self._error_mode)

    def synchronize(self) -> None:
        """Do nothing, because CPU work has finished when its call returns."""


class CudaEngine:
    """The engine that captures work on an NVIDIA or AMD device."""

    records: bool = False
    """Whether its graphs record their steps."""

    def __init__(self, device: Any, stream: Any = None, error_mode: ErrorMode = "global") -> None:
        self.device = device
        self._stream = stream if stream is not None else torch.cuda.Stream(device)
        self._error_mode = error_mode

    def used(self, pool: Any) -> int:
        """Return how many bytes of the device are in use, by any process."""
        free, total = torch.cuda.mem_get_info(self.device)
        return int(total - free)

    def weakly(self, graph: Any, tensor: Any) -> Any:
        """Return a tensor on the same memory that lets other graphs of the pool reuse it."""
        if not tensor.is_cuda:
            return tensor
        whole = tensor.untyped_storage()
        borrowed = torch._C._construct_storage_from_data_pointer(
            whole.data_ptr(), tensor.device, whole.nbytes()
        )
        alias = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return alias.set_(borrowed, tensor.storage_offset(), tensor.shape, tensor.stride())

    def new_pool(self) -> Any:
        """Return a new pool of the device's allocator."""
        return torch.cuda.graph_pool_handle()

    @contextmanager
    def capture(self, pool: Any, descriptor: Any = None) -> Iterator[Any]:
        """Capture the work of the block on a separate stream, or on that of the batch."""
        graph = torch.cuda.CUDAGraph()
        stream = self._stream(descriptor) if callable(self._stream) else self._stream
        outside = torch.cuda.current_stream(self.device)
        stream.wait_stream(outside)
        with torch.cuda.device(self.device), torch.cuda.stream(stream):
            _begin(graph, pool, self._error_mode)
            try:
                yield graph
            except BaseException:
                # The capture has failed, but the stream cannot be used again before it is ended.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        outside.wait_stream(stream)

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize(self.device)


def _begin(graph: Any, pool: Any, error_mode: ErrorMode) -> None:
    try:
        graph.capture_begin(pool=pool, capture_error_mode=error_mode)
    except RuntimeError as error:
        if "use_count" not in str(error):
            raise
        raise GraphError(POOL_IS_GONE) from error


Engine = VirtualEngine | CudaEngine


def engine_for(device: Any, stream: Any = None, error_mode: ErrorMode = "global") -> Engine:
    """Return the engine for a device, on the caller's stream if given; for `cpu`, the virtual engine.

    The stream may be a function that returns that of a batch.
    """
    chosen = torch.device(device)
    if chosen.type == "cuda":
        return CudaEngine(chosen, stream, error_mode)
    if chosen.type == "cpu":
        if stream is not None:
            raise ValueError("virtual captures have no streams; leave stream= out on the cpu")
        return VirtualEngine(chosen, error_mode)
    raise ValueError(f"graphs are captured on cuda, or virtually on cpu; not on {chosen.type}")


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that the device itself has failed, rather than one operation."""
    kinds = (getattr(torch, "AcceleratorError", RuntimeError), RuntimeError)
    if not isinstance(error, kinds) or isinstance(error, virtual.CaptureError):
        return False
    text = str(error)
    return ("CUDA error" in text or "HIP error" in text) and not any(one in text for one in _OF_CAPTURES)
