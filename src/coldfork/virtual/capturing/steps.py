"""How one operator is executed at each replay: into the memory that capture gave its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coldfork.virtual.capturing.errors import ReplayError
from coldfork.virtual.capturing.graph import Use
from coldfork.virtual.capturing.operators import Operator, out_variant
from coldfork.virtual.capturing.shapes import Fresh, Plan

Step = tuple[Callable[..., object], Any, dict[str, Any]]


class Steps:
    """Makes steps, and remembers which operators can write to given tensors."""

    def __init__(self) -> None:
        self._variants: dict[Operator, Any] = {}

    def step(self, operator: Operator, plan: Plan, args: Any, kwargs: Any, fresh: list[Use]) -> Step:
        """What to call at each replay, and with what."""
        if not fresh:
            return operator.call, args, kwargs
        variant = self._variants.get(operator)
        if variant is None:
            variant = self._variants[operator] = out_variant(operator) or ()
        if variant:
            call, names = variant
            for name, use in zip(names, fresh, strict=True):
                kwargs[name] = use.tensor
            return call, args, kwargs
        buffers = [use.tensor for use in fresh]
        if operator.single and isinstance(plan.results[0], Fresh):
            return _copying_one(operator.call, buffers[0]), args, kwargs
        return _copying(operator, plan, buffers), args, kwargs


def _copying_one(call: Callable[..., Any], buffer: Any) -> Callable[..., None]:
    def step(*args: Any, **kwargs: Any) -> None:
        _store(call(*args, **kwargs), buffer)

    return step


def _copying(operator: Operator, plan: Plan, buffers: list[Any]) -> Callable[..., None]:
    """Execute an operator that returns several tensors, new ones and others, and keep the new ones."""
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
            f"it returned {tuple(result.shape)} of {result.dtype}, "
            f"where capture had expected {tuple(buffer.shape)} of {buffer.dtype}"
        )
    buffer.copy_(result)
