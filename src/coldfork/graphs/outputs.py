"""Guarded outputs, which raise an error if they are read after a later replay has overwritten them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs.errors import StaleOutputError


class Generation:
    """A counter of the replays that write to the same memory."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number: int = 0

    def guard(self, outputs: Any, batch: str) -> Any:
        """Return a replay's outputs as tensors that can be read until the next replay."""
        self.number += 1
        made = self, self.number, batch
        return pytree.tree_map_only(torch.Tensor, lambda one: _guarded(one, made), outputs)


class GuardedOutput(torch.Tensor):  # type: ignore[misc]
    """A static output of a graph; using it after a later replay raises `StaleOutputError`."""

    _coldfork_made: tuple[Generation, int, str]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        guarded = [one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, GuardedOutput)]
        for one in guarded:
            generation, number, batch = one._coldfork_made
            if generation.number != number:
                raise StaleOutputError(
                    f"this output of {batch} was overwritten: {generation.number - number} more replays "
                    "have run on its memory; clone() outputs that must outlive the next replay"
                )
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs or {})
        homes = {_storage(one): one._coldfork_made for one in guarded}

        def still_guarded(one: Any) -> Any:
            made = homes.get(_storage(one))
            return one if made is None or isinstance(one, GuardedOutput) else _guarded(one, made)

        return pytree.tree_map_only(torch.Tensor, still_guarded, result)


def _guarded(tensor: Any, made: tuple[Generation, int, str]) -> GuardedOutput:
    with torch._C.DisableTorchFunctionSubclass():
        guarded: GuardedOutput = tensor.as_subclass(GuardedOutput)
    guarded._coldfork_made = made
    return guarded


def _storage(tensor: Any) -> int:
    with torch._C.DisableTorchFunctionSubclass():
        return int(tensor.untyped_storage()._cdata)
