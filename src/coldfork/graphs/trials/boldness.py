"""How far the values of each input may go before the program fails on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from coldfork.graphs.trials.copies import Answer
from coldfork.graphs.trials.questions import Question
from coldfork.graphs.trials.variation import BOLD, CAREFUL, CONTRARY, WILD

Run = Callable[[Question], Answer]
"""Runs a batch on other values."""


def settled(question: Question, choosable: Iterable[int], run: Run) -> Question:
    """The question with the boldest values that the program takes, for each input by itself.

    An index has to stay within its table; the lengths beside it need not stay as they are for that.
    `choosable` are the inputs of which only some values may be allowed, by number.
    """
    if not run(question).error:
        return question
    wished = question.boldness
    found = replace(question, boldness=(CAREFUL,) * len(wished))
    for number in choosable:
        for boldness in range(wished[number], CAREFUL):
            bolder = replace(found, boldness=_with(found.boldness, number, boldness))
            if not run(bolder).error:
                found = bolder
                break
    return found


def taken(question: Question, run: Run) -> tuple[Question, Answer]:
    """The answer to a question, and the question itself: milder than it was where the program failed."""
    answer = run(question)
    while answer.error and any(one != CAREFUL for one in question.boldness):
        question = replace(question, boldness=tuple(min(one + 1, CAREFUL) for one in question.boldness))
        answer = run(question)
    return question, answer


def wildly(question: Question) -> Question:
    """The same, without regard to what looks like an order."""
    return replace(question, boldness=tuple(WILD if one == BOLD else one for one in question.boldness))


def with_contrary_flags(question: Question) -> Question:
    """The same, with each tensor of flags that may vary all of one kind."""
    each = zip(question.inputs, question.boldness, strict=True)
    contrary = (CONTRARY if view.dtype is torch.bool and one != CAREFUL else one for view, one in each)
    return replace(question, boldness=tuple(contrary))


def _with(boldness: tuple[int, ...], number: int, value: int) -> tuple[int, ...]:
    return (*boldness[:number], value, *boldness[number + 1 :])
