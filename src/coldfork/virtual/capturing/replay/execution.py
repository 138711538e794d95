"""Executing the records of a graph below everything that torch does around an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import _disable_current_modes

from coldfork.virtual.capturing.errors import ReplayError
from coldfork.virtual.capturing.operators.shapes import fresh_in
from coldfork.virtual.capturing.places import written
from coldfork.virtual.capturing.records import Record

_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


@contextmanager
def below() -> Iterator[None]:
    """Below autograd, autocast and modes, which have had their say when the operators were recorded."""
    with (
        _disable_current_modes(),
        torch._C._AutoDispatchBelowADInplaceOrView(),
        torch._C._ExcludeDispatchKeyGuard(_AUTOCAST),
        torch._C.DisableTorchFunction(),
    ):
        yield


def execute(records: Iterable[Record]) -> None:
    """Run them in their order."""
    with below():
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


def require_sizes(records: Iterable[Record]) -> None:
    """After a first replay: no operator may have given its results another size than capture expected."""
    for record in records:
        fresh = list(fresh_in(record.plan.results, record.operator))
        for use, expected in zip(record.wrote[len(record.wrote) - len(fresh) :], fresh, strict=False):
            if tuple(use.tensor.shape) != expected.size:
                raise ReplayError(
                    f"{record.name}, captured at {written(record.where)}, gave its result the size "
                    f"{tuple(use.tensor.shape)}, where capture had expected {expected.size}"
                )
