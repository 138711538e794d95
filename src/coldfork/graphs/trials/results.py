"""The results of a run, the elements in which two runs of a batch differ, and what is kept from before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from coldfork.graphs.leaks.memory import is_readable
from coldfork.graphs.leaks.reachable_values import is_tensor, spots
from coldfork.graphs.trials.beginning import plainly

Results = Mapping[str, Any]
"""Tensors by their path in the output."""

_CLOSE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 2e-2}
"""Relative tolerances, because a program may choose between kernels that round differently."""
_CLOSE_EIGHT_BITS = 0.2


def results_of(output: Any) -> dict[str, Any]:
    """Return copies of the tensors that a forward function returned."""
    found = {name: tensor for name, tensor in _tensors_of(output).items() if is_readable(tensor)}
    with torch._C.DisableTorchFunctionSubclass():
        return {name: plainly(tensor).detach().clone() for name, tensor in found.items()}


def unread_in(output: Any) -> tuple[str, ...]:
    """Return the type names of returned tensors that cannot be read, and so cannot be compared."""
    every = _tensors_of(output).values()
    return tuple(sorted({type(one).__name__ for one in every if not is_readable(one)}))


def _tensors_of(output: Any) -> dict[str, Any]:
    found = {"": output} if is_tensor(output) else {}
    for spot in spots({"": output}) if not found else ():
        if is_tensor(spot.value):
            found.setdefault(spot.path, spot.value)
    return found


def disagreements(one: Results, other: Results) -> dict[str, Any]:
    """Return masks of the elements that differ, for each result; if the shape or type differs, all elements
    do.
    """
    found: dict[str, Any] = {}
    for name in one.keys() | other.keys():
        mask = _apart(one.get(name), other.get(name))
        if bool(mask.any()):
            found[name] = mask
    return found


def without(found: Mapping[str, Any], excused: Mapping[str, Any]) -> dict[str, Any]:
    """Return the masks of differences, without the elements in a second set of masks."""
    left: dict[str, Any] = {}
    for name, mask in found.items():
        other = excused.get(name)
        if other is not None and other.shape == mask.shape:
            mask = mask & ~other
        if bool(mask.any()):
            left[name] = mask
    return left


def _apart(one: Any, other: Any) -> Any:
    if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
        return torch.ones(() if one is None else one.shape, dtype=torch.bool)
    if one.dtype.is_complex:
        return _apart(torch.view_as_real(one.resolve_conj()), torch.view_as_real(other.resolve_conj())).any(
            -1
        )
    if not one.dtype.is_floating_point:
        return one != other
    margin = _CLOSE.get(one.dtype, _CLOSE_EIGHT_BITS)
    left, right = one.double(), other.double()
    size = left.nan_to_num(0.0, 0.0, 0.0).abs()
    allowed = margin * size + 0.01 * margin * (size.max() if size.numel() else 0.0)
    same = (left == right) | (left.isnan() & right.isnan()) | ((left - right).abs() <= allowed)
    return ~same


@dataclass(frozen=True, slots=True)
class WhatIsKept:
    """A request for the places that hold the memory with these keys, or one of these numbers."""

    keys: frozenset[int]
    numbers: frozenset[float] = frozenset()
    """The numbers that a graph keeps from its capture."""


@dataclass(frozen=True, slots=True)
class Found:
    """The places that hold what was asked for, and the memory for which they do not tell enough."""

    places: range
    """The numbers of the places, counted from the first request."""
    memory: tuple[int, ...]
    """The keys of the memory that each of them holds; 0 for none."""
    changed: Mapping[int, str]
    """Memory that was changed in place after its allocation, with a name; no place shows such a change."""
    hidden: Mapping[int, str]
    """Memory for which there is no place, such as that of a tensor in the frame of a generator."""
    complete: bool = True
    """Whether these are all places."""
    cached: range = range(0)
    """The numbers of the program's cached functions that hold something else, or something unknown."""
