"""Tensors copied as they lie in memory, and compared to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def plain(tensor: Any) -> bool:
    """Whether its elements lie in memory of the processor, one beside the other or in steps."""
    return tensor.layout is torch.strided and not tensor.is_nested and tensor.device.type == "cpu"


def elements(tensor: Any) -> Any:
    """All elements of the storage, seen without gaps and without repetition."""
    return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())


def twin(tensor: Any) -> Any:
    """Another of the same elements in the same places of a storage of its own."""
    if not plain(tensor):
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    storage = tensor.untyped_storage().clone()
    copy = torch.empty(0, dtype=tensor.dtype)
    copy.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    if tensor.is_conj():
        copy = torch._conj(copy)
    if tensor.is_neg():
        copy = torch._neg_view(copy)
    return copy.requires_grad_(tensor.requires_grad)


def compared(expected: Any, got: Any) -> tuple[str, str]:
    """Whether two results are the same to the last bit, and laid out alike."""
    ours, theirs = list(_tensors(got)), list(_tensors(expected))
    if len(ours) != len(theirs):
        return "structure-differs", f"{len(ours)} tensors instead of {len(theirs)}"
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if (mine.dtype, mine.shape) != (other.dtype, other.shape):
            return "shape-differs", f"result {index}: {_looks(mine)} instead of {_looks(other)}"
        if not _same_bits(mine, other):
            return "value-differs", f"result {index}: {_difference(mine, other)}"
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if plain(mine) and mine.numel() and mine.stride() != other.stride():
            return "stride-differs", f"result {index}: {mine.stride()} instead of {other.stride()}"
    return "equal", ""


def _looks(tensor: Any) -> str:
    return f"{tensor.dtype} {tuple(tensor.shape)}"


def _same_bits(mine: Any, other: Any) -> bool:
    mine, other = mine.detach(), other.detach()
    if not plain(mine):
        return bool(torch.equal(mine.to_dense(), other.to_dense()))
    return bool(torch.equal(_bytes(mine), _bytes(other)))


def _bytes(tensor: Any) -> Any:
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)
    flat.view(tensor.shape).copy_(tensor)
    return flat.view(torch.uint8)


def _difference(mine: Any, other: Any) -> str:
    mine, other = mine.detach().to_dense(), other.detach().to_dense()
    if not mine.is_floating_point() and not mine.is_complex():
        return f"{int((mine != other).sum())} of {mine.numel()} elements"
    if bool(mine.isnan().ne(other.isnan()).any()):
        return f"NaN in {int(mine.isnan().sum())} elements instead of {int(other.isnan().sum())}"
    return f"by up to {float((mine - other).abs().nan_to_num().max()):.1e}"


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
