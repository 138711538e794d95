"""coldfork's graph manager beneath SGLang 0.5.23's decode runner, as the backend that captures and replays.

A platform of yours names it (`get_full_graph_backend_cls`), and `DecodeCudaGraphRunner` takes it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from sglang.srt.constants import GPU_MEMORY_TYPE_CUDA_GRAPH
from sglang.srt.model_executor.runner.shape_key import ShapeKey
from sglang.srt.model_executor.runner_backend.full_cuda_graph_backend import FullCudaGraphBackend
from sglang.srt.model_executor.runner_utils.pool import graph_pool_capture_scope, graph_pool_replay_scope

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase


@dataclass(frozen=True)
class Shape(BatchDescriptor):
    """A graph of SGLang's: the size, and which of several for it."""

    stream_idx: int | None = None
    variant_label: str | None = None
    attention_variant: str | None = None


class Backend(FullCudaGraphBackend):
    """One graph for each shape, warmed up twice, and captured by a `GraphManager`."""

    check: Literal["error", "warn", "off"] = "off"
    manager: Any = None
    reset: Callable[[], None] | None = None

    @contextmanager
    def capture_session(self, stream: Any) -> Iterator[None]:
        with super().capture_session(stream):
            if self.manager is None:
                self.manager = GraphManager(
                    self._cuda_graph_runner.device,
                    self._pool,
                    check=self.check,
                    warmups=2,
                    around_warmup=self.warming_up,
                    capturing=self.capturing,
                )
            yield

    def capture_one(
        self,
        shape_key: ShapeKey,
        forward_fn: Callable[[], Any],
        capture_inputs: Any = None,
        post_warmup_hook: Callable[[], None] | None = None,
    ) -> None:
        def create(shape: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], None]:
            # SGLang's runner has made the metadata, once for all runs of a shape; the hook resets it.
            return (lambda mode: forward_fn()), None

        self.reset = post_warmup_hook
        self.manager.capture(create, [ours(shape_key)], progress=False)
        self._graphs[shape_key] = self.manager

    @contextmanager
    def warming_up(self, shape: BatchDescriptor, number: int) -> Iterator[None]:
        self._device_module.synchronize()
        self._tp_group.barrier()
        with self._precarve.measure():
            yield
        if self.reset is not None:
            self.reset()

    @contextmanager
    def capturing(self, shape: BatchDescriptor, pool: Any) -> Iterator[Any]:
        graph, saver = torch.cuda.CUDAGraph(), self._memory_saver_adapter
        how = {"cuda_graph": graph, "pool": pool, "stream": self._capture_stream}
        if saver is not None and saver.enabled:
            context = saver.cuda_graph(tag=GPU_MEMORY_TYPE_CUDA_GRAPH, enable_cpu_backup=True, **how)
        else:
            context = self._device_module.graph(**how)
        with graph_pool_capture_scope(), context:
            self._precarve.mint()
            yield graph

    def replay(self, shape_key: ShapeKey, static_forward_batch: Any, **kwargs: Any) -> Any:
        with graph_pool_replay_scope():
            return self._graphs[shape_key].replay(ours(shape_key))

    def cleanup(self) -> None:
        self._graphs.clear()
        self._pool = self.manager = None


def ours(key: ShapeKey) -> Shape:
    """The batch that SGLang means."""
    return Shape(Mode.FULL, key.size, key.stream_idx, key.variant_label, key.attention_variant)
