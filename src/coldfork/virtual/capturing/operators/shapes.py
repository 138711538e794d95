"""What an operator's results look like, without their elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from coldfork.virtual.capturing.memory.poison import poison_value
from coldfork.virtual.capturing.operators.schemas import Operator


class Fresh:
    """A new tensor."""

    __slots__ = ("dtype", "nbytes", "poison", "size", "stride")

    def __init__(self, tensor: Any) -> None:
        self.size = tuple(tensor.shape)
        self.stride = tensor.stride()
        self.dtype = tensor.dtype
        reach = [step * (size - 1) for size, step in zip(self.size, self.stride, strict=True)]
        self.poison = poison_value(self.dtype) if 0 not in self.stride else None
        """What fills it until it is computed; None where its storage must be filled byte by byte."""
        self.nbytes = (sum(reach) + 1) * self.dtype.itemsize if tensor.numel() else 0


@dataclass(slots=True)
class Constant:
    """A result that is no tensor, or none at all."""

    value: Any


@dataclass(slots=True)
class Same:
    """A result that is one of the arguments, counted among all tensors given."""

    number: int


Result = Fresh | Constant | Same | list[Any]


@dataclass(slots=True, eq=False)
class ResultPlan:
    """The results of an operator, and the sizes that its `out=` arguments will have."""

    results: tuple[Result, ...]
    outs: tuple[Fresh | None, ...]


def tensors_in(value: Any) -> Iterator[Any]:
    """All tensors of a call's arguments, in their order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def mapped(value: Any, change: Any) -> Any:
    """The arguments of a call with each tensor and device changed."""
    if isinstance(value, torch.Tensor | torch.device):
        return change(value)
    if type(value) is list:
        return [mapped(one, change) for one in value]
    if type(value) is tuple:
        return tuple([mapped(one, change) for one in value])
    if type(value) is dict:
        return {name: mapped(one, change) for name, one in value.items()}
    return value


def fresh_in(results: Any, operator: Operator) -> Iterator[Fresh]:
    """The new tensors among the results of an operator, in their order."""
    for alias, result in zip(operator.aliases, results, strict=False):
        if alias is None:
            for one in result if isinstance(result, list) else (result,):
                if isinstance(one, Fresh):
                    yield one
