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

_FURTHER, _FEWEST_FURTHER, _MOST_FURTHER = 96, 4, 32
"""Further steps to try if the host reads inputs: for all sizes together, and the least and most for each."""

Run = Callable[[Question], Answer]
Runs = Iterator[tuple[Question, Answer]]


def other_steps(question: Question, run: Run, sizes: int) -> Runs:
    """Yield runs with many more seeds, each for another step of the program."""
    # Each batch tries other seeds, since the same code runs for all sizes.
    most = min(max(_FURTHER // sizes, _FEWEST_FURTHER), _MOST_FURTHER)
    first = question.seed + 1 + question.number * most
    for seed in range(first, first + most):
        asked = replace(question, seed=seed)
        yield asked, run(asked)


class OtherOperators:
    """Selects traced runs of a batch whose operators differ from the graph's, a few of each kind."""

    def __init__(self, records: Iterable[Any], run: Run) -> None:
        self._run = run
        self._of_graph = tuple(
            (record.name, record.where, numbers_in((record.args, record.kwargs)))
            for record in records
            if record.operator.way is Way.COMPUTE
        )
        self._tries = Counter[object]()

    def among(self, runs: Iterable[tuple[Question, Answer]]) -> Runs:
        """Yield those of these runs that are selected, with the questions for their replays.

        Runs that did not finish are yielded too, and steps of the program that failed: they are not compared.
        """
        for question, answer in runs:
            failed = answer.trouble or (question.prepared and answer.error)
            if failed or (answer.given and self._counts(answer)):
                yield replace(question, traced=False), answer

    def on_other_values(self, question: Question, answer: Answer) -> Runs:
        """Yield a run if selected, and further runs with the same level and groups but other values."""
        if answer.trouble:
            yield replace(question, traced=False), answer
        elif answer.given and self._counts(answer):
            more = (replace(question, attempt=question.attempt + one) for one in range(1, _TRIES))
            yield from self.among((asked, self._run(asked)) for asked in more)

    def _counts(self, answer: Answer) -> bool:
        operators = tuple((*one.kind, one.numbers) for one in answer.value.steps if not one.host)
        self._tries[operators] += 1
        return operators != self._of_graph and self._tries[operators] <= _TRIES
