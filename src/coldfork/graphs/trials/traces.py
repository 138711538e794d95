"""The operators of a run, and explanations of how they differ from a replay's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from coldfork.graphs.findings import Leak, LeakKind
from coldfork.graphs.leaks.memory import is_readable
from coldfork.graphs.leaks.operator_watch import HostReads
from coldfork.model.states import Frame
from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.schemas import Operators, Way, tensors_in
from coldfork.virtual.capturing.records import Places, as_frame
from coldfork.virtual.capturing.replay import below

_SHOWN = 40
_WEIGHTS = 97
_AT_ONCE = _WEIGHTS << 14
"""The number of elements of a tensor that are summed at a time."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a run."""

    name: str
    where: Frame | None
    numbers: tuple[str, ...] = ()
    """Its arguments that are not tensors, as text."""
    digest: tuple[float, float] = (0.0, 0.0)
    """Two sums that serve to recognise its results."""
    host: bool = False
    """Whether it reads a value on the host."""
    number: int = -1
    """The number of its record, counted through all graphs of a batch."""

    @property
    def kind(self) -> tuple[str, Frame | None]:
        """The operator and its line. They are the same for the same call in another run."""
        return self.name, self.where


class Trace(UncompiledMode):
    """A mode that records the operators of an eager run."""

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
            with _disable_current_modes():
                digest = digest_of(tensors_in((result, written)))
            numbers = numbers_in((args, kwargs))
            self.steps.append(Step(operator.name, as_frame(self._places.here(2)), numbers, digest))
        return result

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record the code of the block, including host reads that call no operator."""
        with self, HostReads(self.note_host_read):
            yield

    def keep_host_reads(self) -> None:
        """Drop all recorded steps except host reads."""
        self.steps = [step for step in self.steps if step.host]

    def note_host_read(self, name: str, tensor: Any = None) -> None:
        """Record that the host reads a value here."""
        self.steps.append(Step(name, as_frame(self._places.here(2)), host=True))


def trace_of(records: Iterable[Any]) -> Iterator[Step]:
    """Execute the records of a graph, and yield a step for each operator."""
    with below():
        for number, record in enumerate(records):
            record.call(*record.args, **record.kwargs)
            if record.operator.way is Way.EMPTY:
                continue
            digest = digest_of(use.tensor for use in record.wrote)
            numbers = numbers_in((record.args, record.kwargs))
            yield Step(record.name, record.where, numbers, digest, number=number)


def numbers_in(arguments: Any) -> tuple[str, ...]:
    """Return the arguments of an operator that are not tensors, as text."""
    leaves = pytree.tree_leaves(arguments)
    return tuple(repr(one)[:_SHOWN] for one in leaves if isinstance(one, bool | int | float | complex | str))


def digest_of(tensors: Iterable[Any]) -> tuple[float, float]:
    """Return a plain and a weighted sum of the elements; different tensors are unlikely to agree in both."""
    plain, weighted = 0.0, 0.0
    for tensor in tensors:
        if not is_readable(tensor):
            continue
        flat = tensor.detach().resolve_conj()
        flat = (torch.view_as_real(flat) if flat.is_complex() else flat).reshape(-1)
        for part in flat.split(_AT_ONCE):
            sums = _sums(part)
            plain += float(sums.sum())
            weighted += float((sums * torch.arange(1, sums.numel() + 1)).sum())
    return plain, weighted


def _sums(flat: Any) -> Any:
    """Return 97 sums, each of every 97th element, starting at each of the first 97 elements in turn."""
    whole = flat.numel() // _WEIGHTS * _WEIGHTS
    rows, rest = flat[:whole].reshape(-1, _WEIGHTS), flat[whole:]
    sums = rows.sum(0, dtype=torch.float64)
    if not bool(sums.isfinite().all()):
        sums = rows.double().nan_to_num(1e9, 1e10, -1e10).sum(0)
    sums[: rest.numel()] += rest.double().nan_to_num(1e9, 1e10, -1e10)
    return sums


_MOST = 6
_ROUNDING = 1e-4

Origin = Callable[[int], tuple[str, Frame | None]]
"""Returns, for a record of the graph, a description and the line of what wrote the memory that it reads."""


def explanations(
    descriptor: str, fresh: Sequence[Step], replayed: Sequence[Step], origin: Origin
) -> list[Leak]:
    """Return leaks that explain why the results differ, the most likely causes first."""
    causes = _Causes(descriptor, fresh, replayed)
    every = (*causes.constants(), *causes.skipped(), *causes.memory(origin), *causes.host_reads())
    return list(islice(dict.fromkeys(every), _MOST))


class _Causes:
    """The differences between a fresh run and a replay of one batch."""

    def __init__(self, descriptor: str, fresh: Sequence[Step], replayed: Sequence[Step]) -> None:
        self._descriptor = descriptor
        self._host = [step for step in fresh if step.host]
        eager = [step for step in fresh if not step.host]
        self._before = _read_before(fresh)
        self._pairs, self._left_out = _aligned(eager, replayed)
        self._wrong = next((mine for other, mine in self._pairs if not _agree(other, mine)), None)

    def constants(self) -> Iterator[Leak]:
        """Yield the numbers that the graph has kept from its capture."""
        for other, mine in self._pairs:
            if other.numbers != mine.numbers:
                read = self._before.get(id(other))
                captured, fresh = ", ".join(mine.numbers), ", ".join(other.numbers)
                message = (
                    f"{mine.name} was captured with {captured}; a fresh run of another batch gives it {fresh}"
                )
                yield Leak(LeakKind.CONSTANT, self._descriptor, mine.name, message, mine.where, _line(read))

    def skipped(self) -> Iterator[Leak]:
        """Yield the operators of the fresh run that the graph skips."""
        for step in self._left_out:
            message = f"a fresh run computes {step.name}, and the graph does not"
            yield Leak(LeakKind.SKIPPED, self._descriptor, step.name, message, _line(self._wrong), step.where)

    def memory(self, origin: Origin) -> Iterator[Leak]:
        """If nothing else explains the results, yield memory whose contents differ from those in a
        fresh run.
        """
        wrong = self._wrong
        if wrong is None or self._left_out or any(one.numbers != other.numbers for one, other in self._pairs):
            return
        words, line = origin(wrong.number)
        message = f"{wrong.name} reads {words}, which is not what a fresh run of another batch reads there"
        yield Leak(LeakKind.MEMORY, self._descriptor, wrong.name, message, wrong.where, line)

    def host_reads(self) -> Iterator[Leak]:
        """Yield the values that a fresh run reads on the host, which a graph cannot do."""
        for step in self._host:
            message = f"{step.name} reads a value on the host; the graph keeps the one read before capture"
            yield Leak(
                LeakKind.HOST_READ, self._descriptor, step.name, message, _line(self._wrong), step.where
            )


def _read_before(fresh: Sequence[Step]) -> dict[int, Step]:
    """Return the last host read before each step, by the step's id."""
    found: dict[int, Step] = {}
    last = None
    for step in fresh:
        if step.host:
            last = step
        elif last is not None:
            found[id(step)] = last
    return found


def _line(step: Step | None) -> Frame | None:
    return None if step is None else step.where


def _aligned(eager: Sequence[Step], replayed: Sequence[Step]) -> tuple[list[tuple[Step, Step]], list[Step]]:
    """Return the pairs of calls that both runs made, and the calls that only the fresh run made."""
    kinds = [step.kind for step in eager], [step.kind for step in replayed]
    pairs: list[tuple[Step, Step]] = []
    left_out: list[Step] = []
    for tag, first, last, begin, end in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(eager[first:last], replayed[begin:end], strict=True)
        else:
            left_out += eager[first:last]
    return pairs, left_out


def _agree(one: Step, other: Step) -> bool:
    return all(
        abs(left - right) <= _ROUNDING * max(abs(left), abs(right), 1e-9)
        for left, right in zip(one.digest, other.digest, strict=True)
    )
