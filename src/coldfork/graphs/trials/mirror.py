"""The same captures once more, in a copy of the process, after warm-ups on other values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from coldfork.graphs import batches
from coldfork.graphs.batches import Manner
from coldfork.graphs.descriptors import BatchDescriptor, Phase
from coldfork.graphs.engines import Engine
from coldfork.graphs.leaks.watch_points import Inspection
from coldfork.graphs.passes.inputs import StaticInputs
from coldfork.graphs.trials.beginning import Beginning
from coldfork.graphs.trials.eager_runs import EagerRun, given_other_values
from coldfork.graphs.trials.questions import Question
from coldfork.graphs.trials.replays import Replay, Replayer

Replaying = tuple[Question, EagerRun, bool]


class Mirror:
    """Captures the batches in the order in which the program does, and replays them."""

    def __init__(
        self,
        make: Callable[[BatchDescriptor, Phase], Any],
        descriptors: Iterable[BatchDescriptor],
        beginning: Beginning,
        engine: Engine,
        manner: Manner,
    ) -> None:
        self._make = make
        self._descriptors = tuple(descriptors)
        self._beginning = beginning
        self._engine = engine
        self._manner = manner
        self._pool: Any = None
        self._captured: list[Any] = []

    def answer(self, question: Question | Replaying) -> Replay | None:
        """Capture a batch, or replay the one that was captured last."""
        if isinstance(question, Question):
            self._capture(question)
            return None
        asked, fresh, restored = question
        replayer = Replayer(self._captured[-1], self._captured[:-1], self._beginning, self._make)
        return replayer.replay(asked, fresh, restored=restored)

    def _capture(self, question: Question) -> None:
        descriptor = self._descriptors[question.number]
        given_other_values(question, self._beginning)
        inputs = StaticInputs(descriptor, {})
        batch, _, self._pool = batches.capture(
            descriptor, self._make, self._engine, self._pool, inputs, Inspection(), self._manner
        )
        self._captured.append(batch)
