"""From two traces to lines: what a fresh run does that the graph does not, or does with something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from coldfork.graphs.findings import Leak, LeakKind
from coldfork.graphs.trials.traces import Step
from coldfork.model.states import Frame

_MOST = 6
_ROUNDING = 1e-4

Origin = Callable[[int], tuple[str, Frame | None]]
"""Who wrote what a record of the graph reads, in words, and its line."""


def explanations(
    descriptor: str, fresh: Sequence[Step], replayed: Sequence[Step], origin: Origin
) -> list[Leak]:
    """What makes the results differ, the first cause first."""
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
        """Numbers that the graph keeps from its capture."""
        for other, mine in self._pairs:
            if other.numbers != mine.numbers:
                read = self._before.get(id(other))
                captured, fresh = ", ".join(mine.numbers), ", ".join(other.numbers)
                message = (
                    f"{mine.name} was captured with {captured}; a fresh run of another batch gives it {fresh}"
                )
                yield Leak(LeakKind.CONSTANT, self._descriptor, mine.name, message, mine.where, _line(read))

    def skipped(self) -> Iterator[Leak]:
        """Work that the graph does without."""
        for step in self._left_out:
            message = f"a fresh run computes {step.name}, and the graph does not"
            yield Leak(LeakKind.SKIPPED, self._descriptor, step.name, message, _line(self._wrong), step.where)

    def memory(self, origin: Origin) -> Iterator[Leak]:
        """Memory that no longer holds what it does in a fresh run, where nothing else explains it."""
        wrong = self._wrong
        if wrong is None or self._left_out or any(one.numbers != other.numbers for one, other in self._pairs):
            return
        words, line = origin(wrong.number)
        message = f"{wrong.name} reads {words}, which is not what a fresh run of another batch reads there"
        yield Leak(LeakKind.MEMORY, self._descriptor, wrong.name, message, wrong.where, line)

    def host_reads(self) -> Iterator[Leak]:
        """Values that a fresh run takes to the host, which a graph cannot."""
        for step in self._host:
            message = f"{step.name} brings a value to the host; the graph goes by what was read before it"
            yield Leak(
                LeakKind.HOST_READ, self._descriptor, step.name, message, _line(self._wrong), step.where
            )


def _read_before(fresh: Sequence[Step]) -> dict[int, Step]:
    """For each step the last value that came to the host before it."""
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
    """The calls that both made, and those that only the fresh run made."""
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
