"""Fresh runs whose operators differ from a graph's; each is repeated with several values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from coldfork.graphs.trials.beginning import Question
from coldfork.graphs.trials.copies import Answer
from coldfork.graphs.trials.traces import numbers_in
from coldfork.virtual.capturing.operators.schemas import Way

_TRIES = 8
"""Runs of each kind: a later operator, such as a maximum, may hide a difference, but rarely every time."""

Runs = Iterator[tuple[Question, Answer]]


class OtherOperators:
    """Selects traced runs of a batch whose operators differ from the graph's, a few of each kind."""

    def __init__(self, records: Iterable[Any], run: Callable[[Question], Answer]) -> None:
        self._run = run
        self._of_graph = tuple(
            (record.name, record.where, numbers_in((record.args, record.kwargs)))
            for record in records
            if record.operator.way is Way.COMPUTE
        )
        self._tries = Counter[object]()

    def among(self, runs: Iterable[tuple[Question, Answer]]) -> Runs:
        """Yield the runs that are selected, with the questions for their replays."""
        for question, answer in runs:
            if answer.given and self._counts(answer):
                yield replace(question, traced=False), answer

    def on_other_values(self, question: Question, answer: Answer) -> Runs:
        """Yield a run if it is selected, and further runs with the same level and groups but other values."""
        if answer.given and self._counts(answer):
            more = (replace(question, attempt=question.attempt + one) for one in range(1, _TRIES))
            yield from self.among((asked, self._run(asked)) for asked in more)

    def _counts(self, answer: Answer) -> bool:
        operators = tuple((*one.kind, one.numbers) for one in answer.value.steps if not one.host)
        self._tries[operators] += 1
        return operators != self._of_graph and self._tries[operators] <= _TRIES
