"""The execution of one operator at each replay, into the memory that its results had at the capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from coldfork.virtual.capturing.operators.schemas import Fresh, Operator, ResultPlan, out_variant
from coldfork.virtual.capturing.records import Use
from coldfork.virtual.errors import ReplayError

# In one text, because one name a line would fill two pages.
_SHORTCUTS = frozenset(
    """
    add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum pow.Tensor_Scalar pow.Tensor_Tensor where.self
    eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar
    ge.Tensor ge.Scalar logical_and logical_or logical_not bitwise_and.Tensor bitwise_or.Tensor
    abs neg exp log sin cos tanh sigmoid sqrt rsqrt reciprocal square erf
    mm bmm addmm baddbmm mv addmv matmul cat gather index_select argmax argmin cumsum clamp
    """.split()  # noqa: SIM905
)
_SHORTCUTS_IN_PLACE = frozenset(
    """
    add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor copy_ zero_ fill_.Scalar fill_.Tensor neg_ relu_ exp_
    clamp_ index_copy_ index_add_ scatter_.src masked_fill_.Scalar masked_fill_.Tensor
    """.split()  # noqa: SIM905
)
"""Operators whose function in torch does the same as the overload, but is called in half the time."""

Step = tuple[Callable[..., object], Any, dict[str, Any]]


class Steps:
    """A maker of steps, which remembers which operators can write to given tensors."""

    def __init__(self) -> None:
        self._variants: dict[Operator, Any] = {}

    def step(self, operator: Operator, plan: ResultPlan, args: Any, kwargs: Any, fresh: list[Use]) -> Step:
        """Return the function to call at each replay, with its arguments."""
        if not fresh:
            return _in_place(operator), args, kwargs
        variant = self._variants.get(operator)
        if variant is None:
            variant = self._variants[operator] = _shortcut(operator, out_variant(operator) or ())
        if variant and len(variant[1]) == len(fresh):
            call, names = variant
            for name, use in zip(names, fresh, strict=True):
                kwargs[name] = use.tensor
            return call, args, kwargs
        buffers = [use.tensor for use in fresh]
        if operator.single and isinstance(plan.results[0], Fresh):
            return _copying_one(operator.call, buffers[0]), args, kwargs
        return _copying(operator, plan, buffers), args, kwargs


def _in_place(operator: Operator) -> Callable[..., object]:
    if operator.name.removeprefix("aten::") in _SHORTCUTS_IN_PLACE:
        call: Callable[..., object] = getattr(torch._C.TensorBase, operator.short)
    else:
        call = operator.call
    return call


def _shortcut(operator: Operator, variant: Any) -> Any:
    if variant and variant[1] == ("out",) and operator.name.removeprefix("aten::") in _SHORTCUTS:
        return getattr(torch._C._VariableFunctions, operator.short), variant[1]
    return variant


def _copying_one(call: Callable[..., Any], buffer: Any) -> Callable[..., None]:
    def step(*args: Any, **kwargs: Any) -> None:
        _store(call(*args, **kwargs), buffer)

    return step


def _copying(operator: Operator, plan: ResultPlan, buffers: list[Any]) -> Callable[..., None]:
    """Return a step for an operator with several results, which stores those that are new tensors."""
    fresh = [
        (index, isinstance(result, list))
        for index, result in enumerate(plan.results)
        if operator.aliases[index] is None and isinstance(result, list | Fresh)
    ]

    def step(*args: Any, **kwargs: Any) -> None:
        returned = operator.call(*args, **kwargs)
        results = (returned,) if operator.single else returned
        waiting = iter(buffers)
        for index, several in fresh:
            for one in results[index] if several else (results[index],):
                _store(one, next(waiting))

    return step


def _store(result: Any, buffer: Any) -> None:
    if result.shape != buffer.shape or result.dtype != buffer.dtype:
        raise ReplayError(
            f"it returned {tuple(result.shape)} of {result.dtype}, but capture had expected "
            f"{tuple(buffer.shape)} of {buffer.dtype}"
        )
    buffer.copy_(result)
