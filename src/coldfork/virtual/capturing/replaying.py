"""Executing the records of a graph below everything that torch does around an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from coldfork.virtual.capturing.errors import ReplayError
from coldfork.virtual.capturing.graph import Record
from coldfork.virtual.capturing.places import written


def execute(records: Iterable[Record]) -> None:
    """Run them in their order; autograd, autocast and modes have had their say when they were recorded."""
    autocast = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    with (
        torch.utils._python_dispatch._disable_current_modes(),
        torch._C._AutoDispatchBelowADInplaceOrView(),
        torch._C._ExcludeDispatchKeyGuard(autocast),
    ):
        record = None
        try:
            for record in records:
                record.call(*record.args, **record.kwargs)
        except Exception as error:
            if record is None:
                raise
            raise ReplayError(
                f"replaying {record.name}, captured at {written(record.where)}, failed: {error}"
            ) from error


def copying(call: Callable[..., Any], single: bool, buffers: tuple[Any, ...]) -> Callable[..., None]:
    """Execute an operator that returns new tensors, and copy them to where the graph has them."""

    def step(*args: Any, **kwargs: Any) -> None:
        results = call(*args, **kwargs)
        for result, buffer in zip((results,) if single else results, buffers, strict=True):
            _store(result, buffer)

    return step


def _store(result: Any, buffer: Any) -> None:
    if buffer is None:
        return
    if isinstance(buffer, list):
        for one, place in zip(result, buffer, strict=True):
            _store(one, place)
        return
    if result.shape != buffer.shape or result.dtype != buffer.dtype:
        raise ReplayError(
            f"it returned {tuple(result.shape)} of {result.dtype}, "
            f"where capture had expected {tuple(buffer.shape)} of {buffer.dtype}"
        )
    buffer.copy_(result)
