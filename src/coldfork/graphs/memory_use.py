"""The memory that graphs take: a check against the budget, and an estimate from a few captures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from coldfork.graphs import batches
from coldfork.graphs.batches import CapturedBatch, Manner
from coldfork.graphs.descriptors import BatchDescriptor
from coldfork.graphs.engines import Engine
from coldfork.graphs.errors import MemoryBudgetError
from coldfork.graphs.passes import Make, StaticInputs
from coldfork.graphs.surroundings import Inspection

Measured = Callable[[list[BatchDescriptor]], Mapping[BatchDescriptor, int]]
"""Captures some batches, and returns the bytes that each added."""


def require_within(budget: int | None, used: Mapping[BatchDescriptor, int], last: BatchDescriptor) -> None:
    """Raise an error if the captured graphs take more memory than the budget."""
    total = sum(used.values())
    if budget is not None and total > budget:
        raise MemoryBudgetError(
            f"with {last} the graphs take {_mebibytes(total)}, over the budget of {_mebibytes(budget)}; "
            f"{len(used) - 1} larger ones fit"
        )


def estimated(wanted: Sequence[BatchDescriptor], measured: Measured) -> int:
    """Return an estimate for all batches, from captures of the two largest and the smallest of each mode.

    The first one includes the cost of the pool; each further one is assumed to add the mean of the second and
    the last.
    """
    by_mode: dict[object, list[BatchDescriptor]] = {}
    for one in wanted:
        by_mode.setdefault(one.mode, []).append(one)
    sample = [one for some in by_mode.values() for one in _sample(some)]
    added = measured(sample)
    total = 0
    for some in by_mode.values():
        first, *others = (added[one] for one in _sample(some))
        total += first
        if others:
            total += (others[0] + others[-1]) * (len(some) - 1) // 2
    return total


def added_by(
    sample: list[BatchDescriptor], make: Make, engine: Engine, manner: Manner
) -> dict[BatchDescriptor, int]:
    """Return the bytes that each batch adds, by capturing the batches in a pool that is then discarded."""
    pool = engine.new_pool()
    tried: dict[BatchDescriptor, CapturedBatch] = {}
    for one in sample:
        inputs = StaticInputs(one, {})
        tried[one], _, pool = batches.capture(one, make, engine, pool, inputs, Inspection(), manner)
    return {one: batch.nbytes for one, batch in tried.items()}


def _sample(some: list[BatchDescriptor]) -> list[BatchDescriptor]:
    return list(dict.fromkeys((*some[:2], some[-1])))


def _mebibytes(number: int) -> str:
    return f"{number / 2**20:.2f} MiB"
