"""coldfork's graph manager beneath vLLM 0.33.0's: vLLM prepares, dispatches and replays as before.

`Beneath` takes the place of `CudaGraphManager` behind a class of vLLM's that derives from it:

    class Manager(ModelCudaGraphManager, Beneath): ...

`ModelCudaGraphManager` calls `super().capture(...)`, and that is `Beneath.capture`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from vllm.compilation.cudagraph_pool import capture_pool
from vllm.config.compilation import CUDAGraphMode
from vllm.distributed.parallel_state import graph_capture
from vllm.model_executor.offloader.base import get_offloader
from vllm.v1.worker.gpu.cudagraph_utils import BatchExecutionDescriptor, CreateForwardFn, CudaGraphManager

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase


@dataclass(frozen=True)
class Batch(BatchDescriptor):
    """A batch of vLLM's, of its drafts too."""

    speculative_tokens: int = 0


class Replayed:
    """The record that vLLM keeps of a captured batch, and replays."""

    def __init__(self, manager: GraphManager, batch: BatchDescriptor) -> None:
        self.replay = lambda: manager.replay(batch)


class Beneath(CudaGraphManager):
    """Captures full graphs with a `GraphManager`; what `torch.compile` cut into pieces stays vLLM's."""

    _capture_descs: dict[CUDAGraphMode, list[BatchExecutionDescriptor]]

    def capture(self, create_forward_fn: CreateForwardFn, progress_bar_desc: str = "") -> None:
        wanted = self._capture_descs
        full = wanted.get(CUDAGraphMode.FULL, [])[: self._max_full_descs_to_capture]
        theirs = {ours(one): one for one in full}

        @contextmanager
        def capturing(batch: BatchDescriptor, pool: Any) -> Iterator[Any]:
            graph, stream = torch.cuda.CUDAGraph(), self._capture_stream(theirs[batch])
            get_offloader().sync_prev_onload()
            with (
                capture_pool(pool, self.vllm_config) as scoped,
                torch.cuda.graph(graph, scoped, stream=stream),
            ):
                yield graph
                get_offloader().join_after_forward()

        def create(batch: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], None]:
            run = create_forward_fn(theirs[batch], warmup=phase is Phase.WARMUP)
            return (lambda mode: run(CUDAGraphMode.NONE)), None

        with ExitStack() as stack:
            self._capture_descs = {mode: some for mode, some in wanted.items() if mode != CUDAGraphMode.FULL}
            stack.callback(setattr, self, "_capture_descs", wanted)
            super().capture(create_forward_fn, progress_bar_desc)
            stack.enter_context(graph_capture(device=self.device))
            if self.ubatch_runner is not None:
                stack.callback(self.ubatch_runner.abort_pending_run)
            manager = GraphManager(
                self.device, self.pool, capturing=capturing, grad_mode=torch.inference_mode
            )
            manager.capture(create, theirs)
        self.graphs.update({theirs[one]: Replayed(manager, one) for one in theirs})
        if self._capture_mem_samples is not None:
            self._capture_mem_samples.extend(manager.memory.values())


def ours(one: BatchExecutionDescriptor) -> BatchDescriptor:
    """A batch of vLLM's, in our words."""
    return Batch(
        Mode.FULL,
        one.num_tokens,
        one.num_reqs,
        one.uniform_token_count,
        loras=one.num_active_loras,
        longest_query=one.max_query_len,
        microbatches=one.num_ubatches,
        speculative_tokens=getattr(one, "num_speculative_tokens", 0),
    )
