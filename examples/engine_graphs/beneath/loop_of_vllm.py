"""vLLM 0.33.0's own loop over its graphs, as a check asks for it: `assert_replayable(as_captured(...), ...)`.

`Observed` stands behind a class of vLLM's that derives from `CudaGraphManager`, as `Beneath` does:

    class Manager(ModelCudaGraphManager, Observed): ...

Which forward function is warmed up and which one is captured is then what vLLM's `capture` says: it runs up
to the call in question, and stops there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any
from unittest import mock

import torch
from vllm.config.compilation import CUDAGraphMode
from vllm.v1.worker.gpu.cudagraph_utils import BatchExecutionDescriptor, CreateForwardFn, CudaGraphManager

from beneath.vllm import ours
from coldfork.graphs import BatchDescriptor, CreateForward, Mode, Phase

Run = Callable[[CUDAGraphMode], None]


class Reached(Exception):
    """vLLM's loop has come to the run that was asked for."""


class Observed(CudaGraphManager):
    """Leaves vLLM's loop where it would warm up or capture a batch, with the function that it would run."""

    wanted: Phase | None = None
    warm: Run | None = None
    """What was warmed up last."""

    def capture(self, create_forward_fn: CreateForwardFn, progress_bar_desc: str = "") -> None:
        if self.wanted is None:
            super().capture(create_forward_fn, progress_bar_desc)
            return
        created: list[Run] = []
        ran = 0

        def create(descriptor: BatchExecutionDescriptor, warmup: bool) -> Run:
            # The first one has been created and run already where this process has warmed up.
            warm = self.warm if self.wanted is Phase.CAPTURE and not created else None
            real = warm or create_forward_fn(descriptor, warmup=warmup)
            created.append(real)

            def run(mode: CUDAGraphMode) -> None:
                nonlocal ran
                ran += 1
                if ran == (1 if self.wanted is Phase.WARMUP else 2):
                    raise Reached(real)

            return run

        fake = {"CUDAGraph": mock.DEFAULT, "graph": lambda *_, **__: nullcontext()}
        with mock.patch.multiple(torch.cuda, **fake):
            super().capture(create, progress_bar_desc)


def as_captured(
    manager: Observed, start: Callable[[], None], buffers: Mapping[str, torch.Tensor]
) -> tuple[CreateForward, list[BatchDescriptor]]:
    """Return the functions and batches for a check of vLLM's loop; `start` lets the manager capture.

    The graphs that it had are given up for it.
    """
    manager.release_graphs()
    theirs = {ours(one): one for one in manager._capture_descs[CUDAGraphMode.FULL]}

    def create(batch: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], None]:
        # vLLM fills the buffers of a step with a dummy batch each time; a check wants its own values there.
        values = {name: one.clone() for name, one in buffers.items()}
        manager.wanted, manager._capture_descs = phase, {CUDAGraphMode.FULL: [theirs[batch]]}
        try:
            start()
            raise AssertionError(f"vLLM's loop ended without the {phase.value} of {batch}")
        except Reached as reached:
            (run,) = reached.args
        for name, one in values.items():
            buffers[name].copy_(one)
        manager.warm = run if phase is Phase.WARMUP else None
        return (lambda mode: run(CUDAGraphMode.NONE)), None

    return create, list(theirs)
