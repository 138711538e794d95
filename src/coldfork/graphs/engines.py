"""What captures: a real device, or virtual capture on CPU tensors. Both look alike to the manager."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import torch

from coldfork import virtual
from coldfork.graphs.errors import GraphError
from coldfork.virtual.errors import POOL_IS_GONE

_OF_CAPTURES = ("capturing", "during capture", "capture_", "out of memory")
"""What an error of a device says when the device itself is well."""


class Graph(Protocol):
    """What was captured."""

    def replay(self) -> None:
        """Run it."""


class VirtualEngine:
    """CPU tensors, under the rules of a device."""

    records: bool = True
    """Whether its graphs tell their steps."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def used(self, pool: Any) -> int:
        """How many bytes the graphs of a pool have allocated."""
        return 0 if pool is None else int(pool.nbytes)

    def weakly(self, graph: Any, tensor: Any) -> Any:
        """A tensor for the same memory that does not keep it from other graphs of the pool."""
        return graph.lend(tensor)

    def new_pool(self) -> Any:
        """Nothing until the first graph makes one."""
        return None

    def capture(self, pool: Any) -> Any:
        """Record the block."""
        return virtual.capture(pool)

    def synchronize(self) -> None:
        """CPU work is done when its call returns."""


class CudaEngine:
    """An NVIDIA or AMD device."""

    records: bool = False
    """Whether its graphs tell their steps."""

    def __init__(self, device: Any, stream: Any = None) -> None:
        self.device = device
        self._stream = stream if stream is not None else torch.cuda.Stream(device)

    def used(self, pool: Any) -> int:
        """How many bytes of the device are taken, by whomever."""
        free, total = torch.cuda.mem_get_info(self.device)
        return int(total - free)

    def weakly(self, graph: Any, tensor: Any) -> Any:
        """A tensor for the same memory that does not keep it from other graphs of the pool."""
        if not tensor.is_cuda:
            return tensor
        whole = tensor.untyped_storage()
        borrowed = torch._C._construct_storage_from_data_pointer(
            whole.data_ptr(), tensor.device, whole.nbytes()
        )
        alias = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return alias.set_(borrowed, tensor.storage_offset(), tensor.shape, tensor.stride())

    def new_pool(self) -> Any:
        """A pool of the allocator's."""
        return torch.cuda.graph_pool_handle()

    @contextmanager
    def capture(self, pool: Any) -> Iterator[Any]:
        """Capture what the block does, on a stream of its own."""
        graph = torch.cuda.CUDAGraph()
        outside = torch.cuda.current_stream(self.device)
        self._stream.wait_stream(outside)
        with torch.cuda.device(self.device), torch.cuda.stream(self._stream):
            _begin(graph, pool)
            try:
                yield graph
            except BaseException:
                # The capture is void; ending it is what lets the stream be used again.
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        outside.wait_stream(self._stream)

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize(self.device)


def _begin(graph: Any, pool: Any) -> None:
    try:
        graph.capture_begin(pool=pool)
    except RuntimeError as error:
        if "use_count" not in str(error):
            raise
        raise GraphError(POOL_IS_GONE) from error


Engine = VirtualEngine | CudaEngine


def engine_for(device: Any, stream: Any = None) -> Engine:
    """The engine of a device, on a stream of the caller's if there is one; `cpu` captures virtually."""
    chosen = torch.device(device)
    if chosen.type == "cuda":
        return CudaEngine(chosen, stream)
    if chosen.type == "cpu":
        if stream is not None:
            raise ValueError("virtual captures have no streams; leave stream= out on the cpu")
        return VirtualEngine(chosen)
    raise ValueError(f"graphs are captured on cuda, or virtually on cpu; not on {chosen.type}")


def is_lost(error: BaseException) -> bool:
    """True when an error says that the device itself has failed, and not what was asked of it."""
    kinds = (getattr(torch, "AcceleratorError", RuntimeError), RuntimeError)
    if not isinstance(error, kinds) or isinstance(error, virtual.CaptureError):
        return False
    text = str(error)
    return ("CUDA error" in text or "HIP error" in text) and not any(one in text for one in _OF_CAPTURES)
