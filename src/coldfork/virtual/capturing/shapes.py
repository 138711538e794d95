"""What an operator's results will look like, asked of torch's meta kernels once a shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from coldfork.virtual.capturing.operators import Operator

_LIMIT = 65536
"""How many shapes are remembered; a program that needs more computes some of them anew."""


class Unknown(Exception):
    """Torch cannot say what the results look like without computing them."""


class Fresh:
    """A new tensor."""

    __slots__ = ("dtype", "size", "stride")

    def __init__(self, tensor: Any) -> None:
        self.size = tuple(tensor.shape)
        self.stride = tensor.stride()
        self.dtype = tensor.dtype


class Constant:
    """A result that is no tensor, or none at all."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Same:
    """A result that is one of the arguments, counted among all tensors given."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


Result = Fresh | Constant | Same | list[Any]


class Plan:
    """The results of an operator, and the sizes that its `out=` arguments will have."""

    __slots__ = ("outs", "results")

    def __init__(self, results: tuple[Result, ...], outs: tuple[Fresh | None, ...]) -> None:
        self.results = results
        self.outs = outs


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


def key_of(value: Any) -> Any:
    """What the results' looks depend on: everything but the elements of tensors."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype, value.is_conj(), value.is_neg()
    kind = type(value)
    if kind is list or kind is tuple:
        return (kind, *[key_of(one) for one in value])
    if kind is torch.Generator:
        return id(value)
    return kind, value


class Shapes:
    """Remembers what results look like."""

    def __init__(self) -> None:
        self._plans: dict[Any, Plan] = {}

    def plan(self, operator: Operator, args: Any, kwargs: Any) -> Plan:
        """The results of this call, without computing them."""
        key = (
            operator,
            torch.get_default_dtype(),
            *[key_of(one) for one in args],
            *[(name, key_of(one)) for name, one in kwargs.items()],
        )
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _LIMIT:
                self._plans.clear()
            plan = self._plans[key] = infer(operator, args, kwargs)
        return plan


def infer(operator: Operator, args: Any, kwargs: Any) -> Plan:
    """Let the meta kernel of an operator say what its results look like."""
    stand_ins: dict[int, Any] = {}

    def meta(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("meta")
        known = stand_ins.get(id(value))
        if known is None:
            known = stand_ins[id(value)] = _stand_in(value)
        return known

    meta_args, meta_kwargs = mapped(args, meta), mapped(kwargs, meta)
    with torch.no_grad():
        try:
            results = operator.func(*meta_args, **meta_kwargs)
        except NotImplementedError as error:
            raise Unknown(str(error).splitlines()[0]) from None
    given = [id(one) for one in tensors_in((meta_args, meta_kwargs))]
    listed = (results,) if operator.single else tuple(results or ())
    outs = tuple(_grown(one, args, kwargs, meta) for one in operator.outs)
    return Plan(tuple([_described(one, given) for one in listed]), outs)


def _stand_in(tensor: Any) -> Any:
    stand_in = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    if tensor.is_conj():
        stand_in = torch._conj(stand_in)
    if tensor.is_neg():
        stand_in = torch._neg_view(stand_in)
    return stand_in


def _described(value: Any, given: list[int]) -> Result:
    if isinstance(value, torch.Tensor):
        return Same(given.index(id(value))) if id(value) in given else Fresh(value)
    if isinstance(value, list | tuple):
        return [_described(one, given) for one in value]
    return Constant(value)


def _grown(out: Any, args: Any, kwargs: Any, meta: Any) -> Fresh | None:
    """The size an `out=` tensor gets, where it is not the one it has."""
    tensor = out.of(args, kwargs)
    if not isinstance(tensor, torch.Tensor):
        return None
    after = meta(tensor)
    return Fresh(after) if after.shape != tensor.shape else None
