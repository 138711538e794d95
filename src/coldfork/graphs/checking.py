"""The check of each captured batch: compares it with fresh runs and explains any difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from coldfork.graphs.batches import CapturedBatch, Manner, Prepare
from coldfork.graphs.descriptors import BatchDescriptor
from coldfork.graphs.engines import Engine
from coldfork.graphs.findings import Leak, LeakKind, NotCompared, Report
from coldfork.graphs.leaks.inspection import Inspector
from coldfork.graphs.passes import Make
from coldfork.graphs.trials.comparison import Comparison, Named, Seen
from coldfork.graphs.trials.copies import reason_against
from coldfork.graphs.trials.judging import Judgement
from coldfork.graphs.trials.replays import records_of
from coldfork.graphs.trials.traces import explanations

_PLAINLY = Manner()
_ON_CPU = "capture the same on the CPU"


class Checker:
    """The check of the batches that one call captures, one after another.

    Create it before any warm-up, because fresh runs start from the state at that time.
    """

    def __init__(
        self,
        make: Make,
        descriptors: Iterable[BatchDescriptor],
        engine: Engine,
        persistent: Iterable[Any],
        inputs: Named | None,
        allowed: Mapping[str, str],
        manner: Manner = _PLAINLY,
        prepare: Prepare | None = None,
        choose: Prepare | None = None,
    ) -> None:
        kept = tuple((f"persistent[{number}]", one) for number, one in enumerate(persistent))
        fed = None if inputs is None else tuple(inputs)
        tensors = None if fed is None else [one for _, one in fed]
        self.inspector: Inspector = Inspector([one for _, one in kept], tensors, recorded=engine.records)
        """Must be told of each step of a capture."""
        self._allowed = allowed
        self._against = reason_against(engine.device)
        self._comparison = (
            None
            if self._against
            else Comparison(make, descriptors, kept, fed, engine, manner, prepare, choose)
        )

    def close(self) -> None:
        """End the processes started for the comparison."""
        if self._comparison is not None:
            self._comparison.close()

    def report(self, batch: CapturedBatch) -> Report:
        """Return the report on the most recently captured batch."""
        inspector = self.inspector
        if self._comparison is None:
            outcome = Judgement(
                None, (NotCompared(str(batch.descriptor), "results", self._against, _ON_CPU),)
            )
        else:
            seen = Seen(inspector.batch_memory(), frozenset(inspector.rebuilt))
            outcome = self._comparison.outcome(batch, seen)
        # A suspected leak stays in the report, unless a comparison disproves it or `allow` covers all gaps.
        gaps = Report(not_compared=outcome.gaps).allowing(self._allowed)
        differs = None if outcome.differs is False and gaps.not_compared else outcome.differs
        report = inspector.report(differs)
        leaks = list(report.leaks)
        if outcome.undefined and not outcome.differs:
            leaks += inspector.unwritten()
        if outcome.differs:
            records = list(records_of(batch))
            found = explanations(
                str(batch.descriptor),
                outcome.fresh,
                outcome.replayed,
                lambda number: inspector.writer_of(records[number]),
            )
            leaks = _one_for_each_line([*leaks, *found]) or [_unexplained(batch)]
        elif outcome.gaps:
            leaks = [replace(leak, proven=False) for leak in leaks]
        return replace(gaps, leaks=tuple(leaks), lazy=report.lazy)


def _one_for_each_line(leaks: Iterable[Leak]) -> list[Leak]:
    """Return the leaks, without those that repeat a pair of lines or, if no line is known, a message."""
    found: dict[object, Leak] = {}
    for leak in leaks:
        lines = leak.where, leak.origin
        found.setdefault(lines if any(lines) else leak.message, leak)
    return list(found.values())


def _unexplained(batch: CapturedBatch) -> Leak:
    message = "a replay computes something other than a fresh eager run; the cause was not found"
    return Leak(LeakKind.MEMORY, str(batch.descriptor), "the result", message)
