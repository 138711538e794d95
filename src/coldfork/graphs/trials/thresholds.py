"""Batches on both sides of the numbers that a program compares its values with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from coldfork.graphs.trials.copies import Answer
from coldfork.graphs.trials.host_reads import HostDecisions, Number
from coldfork.graphs.trials.questions import Level, Question

Run = Callable[[Question], Answer]
"""Runs a batch on other values."""

_JUMPS = tuple((1 << power) + 1 for power in (17, 14, 12, 10, 9, 8, 7, 6, 5, 4))
"""Above a threshold, wherever it is; the first that the program takes."""
_MOST_NUMBERS = 16
_MOST_RUNS = 96
"""So many runs are spent on one batch."""


def on_both_sides(
    question: Question, decisions: HostDecisions, run: Run
) -> Iterator[tuple[Question, Answer]]:
    """Runs that the program took, with what came to the host far from where it was."""
    inputs = decisions.inputs
    if not inputs:
        return
    each = [frozenset((one,)) for one in sorted(inputs)]
    groups = [inputs, *each] if len(inputs) > 1 else each
    tries = _Tries(question, run)
    for group in groups:
        for everywhere in (True, False):
            jumps = (tries.taken(jump, group, (everywhere,)) for jump in _JUMPS)
            yield from next(filter(None, jumps), ())
    for level in _levels(decisions.numbers):
        for group in groups:
            found = tries.taken(level, group, (True, False))
            yield from found
            if found and group == inputs:
                break


class _Tries:
    """Runs at certain values, as many as a batch is worth."""

    def __init__(self, question: Question, run: Run) -> None:
        self._question = question
        self._run = run
        self._left = _MOST_RUNS

    def taken(
        self, value: Number, inputs: frozenset[int], ways: Iterable[bool]
    ) -> list[tuple[Question, Answer]]:
        """The first run that the program took with these inputs at one value: in all elements, or in one."""
        for everywhere in ways:
            if not self._left:
                break
            self._left -= 1
            asked = replace(self._question, level=Level(value, inputs, everywhere))
            answer = self._run(asked)
            if answer.given:
                return [(asked, answer)]
        return []


def _levels(numbers: Iterable[Number]) -> Iterator[Number]:
    """Beside each number, the largest numbers first, for small ones are everywhere."""
    chosen = sorted(numbers, key=abs, reverse=True)[:_MOST_NUMBERS]
    seen = set[Number]()
    for number in chosen:
        whole = number == int(number)
        step = 1 if whole else abs(number) / 8
        for level in (number + step, number - step, number):
            if level not in seen:
                seen.add(level)
                yield int(level) if whole else level
