"""Trying a kernel on scratch memory, to see which of its outputs it leaves parts of as they were."""

from __future__ import annotations

from typing import Any

import torch

from coldfork.virtual.capturing.operators.inference import Twins, key_of, scratch
from coldfork.virtual.capturing.operators.schemas import Operator


class Trials:
    """Remembers what came out of the trials, for each kernel and shape."""

    def __init__(self) -> None:
        self._spared: dict[Any, tuple[bool, ...]] = {}

    def spared(self, operator: Operator, args: Any, kwargs: Any, safe: bool) -> tuple[bool, ...]:
        """For each output, whether some of its elements keep what they held, or may keep it."""
        key = (operator, *map(key_of, args), *map(key_of, kwargs.values()))
        known = self._spared.get(key)
        if known is None:
            known = _tried(operator, args, kwargs) if safe else (True,) * len(operator.outs)
            self._spared[key] = known
        return known


def _tried(operator: Operator, args: Any, kwargs: Any) -> tuple[bool, ...]:
    """After two runs on different bytes, what a kernel leaves alone still differs."""
    left = []
    for filling in (0x00, 0xFF):
        twins = Twins(scratch)
        mine, by_name = twins.of(args), twins.of(kwargs)
        outs = [_raw(out.of(mine, by_name)) for out in operator.outs]
        for one in outs:
            one.fill_(filling)
        try:
            operator.func(*mine, **by_name)
        except RuntimeError:
            # It checks its indices, and those on scratch memory have no meaning.
            return (True,) * len(outs)
        left.append(outs)
    return tuple(not torch.equal(one, other) for one, other in zip(*left, strict=True))


def _raw(tensor: Any) -> Any:
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
