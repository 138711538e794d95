"""The operators of a run, one by one, with what they were called with and what they computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs.leaks.memory import is_readable
from coldfork.graphs.leaks.operator_watch import HostReads
from coldfork.model.states import Frame
from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.schemas import Operators, Way, tensors_in
from coldfork.virtual.capturing.places import Places, as_frame
from coldfork.virtual.capturing.replay import below

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a run."""

    name: str
    where: Frame | None
    numbers: tuple[str, ...] = ()
    """What it was given besides tensors."""
    digest: tuple[float, float] = (0.0, 0.0)
    """Tells what it computed from something else."""
    host: bool = False
    """Whether it brings a value to the host."""
    number: int = -1
    """Which record of its graph it is, counted over all graphs of a batch."""

    @property
    def kind(self) -> tuple[str, Frame | None]:
        """What is the same for the same call in another run."""
        return self.name, self.where


class Trace(UncompiledMode):
    """Writes down the operators of an eager run."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._operators = Operators()
        self._places = Places()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        operator = self._operators.of(func)
        result = func(*args, **kwargs)
        if operator.way is Way.HOST:
            self.note_host_read(operator.name)
        elif operator.way is Way.COMPUTE:
            written = [one.of(args, kwargs) for one in operator.written]
            digest = digest_of(tensors_in((result, written)))
            numbers = numbers_in((args, kwargs))
            self.steps.append(Step(operator.name, as_frame(self._places.here(2)), numbers, digest))
        return result

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch a block, and what it reads on the host without an operator."""
        with self, HostReads(self.note_host_read):
            yield

    def keep_host_reads(self) -> None:
        """Forget what was computed so far, and keep what came to the host."""
        self.steps = [step for step in self.steps if step.host]

    def note_host_read(self, name: str, tensor: Any = None) -> None:
        """The host looks at a value here."""
        self.steps.append(Step(name, as_frame(self._places.here(2)), host=True))


def trace_of(records: Iterable[Any]) -> Iterator[Step]:
    """Execute what a graph recorded, and tell of each operator."""
    with below():
        for number, record in enumerate(records):
            record.call(*record.args, **record.kwargs)
            if record.operator.way is Way.EMPTY:
                continue
            digest = digest_of(use.tensor for use in record.wrote)
            numbers = numbers_in((record.args, record.kwargs))
            yield Step(record.name, record.where, numbers, digest, number=number)


def numbers_in(arguments: Any) -> tuple[str, ...]:
    """What an operator is given besides tensors, as text."""
    leaves = pytree.tree_leaves(arguments)
    return tuple(repr(one)[:_SHOWN] for one in leaves if isinstance(one, bool | int | float | complex | str))


def digest_of(tensors: Iterable[Any]) -> tuple[float, float]:
    """Two sums that hardly agree by chance."""
    plain, weighted = 0.0, 0.0
    for tensor in tensors:
        if not is_readable(tensor):
            continue
        flat = tensor.detach().resolve_conj()
        flat = (torch.view_as_real(flat) if flat.is_complex() else flat).reshape(-1).double()
        flat = flat.nan_to_num(1e9, 1e10, -1e10)
        plain += float(flat.sum())
        weighted += float((flat * (torch.arange(flat.numel()) % 97 + 1)).sum())
    return plain, weighted
