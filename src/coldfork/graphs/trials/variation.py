"""Other values for the inputs of a batch, as far as the program's shapes and checks allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch

from coldfork.graphs.trials.beginning import CAREFUL, Question
from coldfork.graphs.trials.copies import Answer

CONTRARY = -1
"""All flags become the negation of the first, which may change whether any or all of them are set."""
WILD = 0
"""All values are new."""
BOLD = 1
"""All values are new, but ascending integers stay ascending: they may be offsets of a batch's sequences."""
TIGHT = 2
"""Like `BOLD`, but integers stay in their range, or vary by 2 at most if they were all equal."""
MILD = 3
"""New floating-point values; integers are permuted, or if all equal, increased by at most one."""

_LARGEST_GUESSES = {WILD: 7, BOLD: 7, TIGHT: 2}
"""The largest step above the minimum: most tables have an index of 7, and nearly all have one of 2."""


def varies(kind: Any) -> bool:
    """Return whether a program may allow only some values of this type, such as indices."""
    return not (kind.is_floating_point or kind.is_complex)


def other_values(tensor: Any, boldness: int, generator: Any, *, strictly: bool = False) -> Any:
    """Return other values for a tensor like this one; None if its values have to stay unchanged.

    With `strictly`, distinct integers stay distinct, and strictly ascending ones stay strictly ascending.
    """
    kind = tensor.dtype
    if kind.is_complex:
        parts = [_numbers(tensor.shape, generator) for _ in range(2)]
        return torch.complex(*parts).to(kind)
    if kind.is_floating_point:
        return _numbers(tensor.shape, generator).to(kind)
    if boldness == CAREFUL or not tensor.numel():
        return None
    if kind is torch.bool and boldness == CONTRARY:
        return torch.full(tensor.shape, not tensor.reshape(-1)[0])
    if kind is torch.bool:
        return torch.randint(2, tensor.shape, generator=generator).bool()
    return _integers(tensor, boldness, generator, strictly).to(kind)


def at_level(tensor: Any, values: Any, value: float, generator: Any, *, everywhere: bool) -> Any:
    """Return the values with one or all elements set to a level, if the type can hold the level.

    Ascending integers stay ascending, with the level as their step; integers that were not negative stay that
    way. Only flags have the levels True and False.
    """
    if values is None:
        values = tensor.clone()
    kind = tensor.dtype
    if kind.is_complex or not tensor.numel() or (kind is torch.bool) is not isinstance(value, bool):
        return values
    if not kind.is_floating_point and kind is not torch.bool:
        limits = torch.iinfo(kind)
        value = min(max(round(value), limits.min if int(tensor.min()) < 0 else 0), limits.max)
        if _rises(tensor.reshape(-1)):
            flat = tensor.reshape(-1)
            steps = torch.arange(flat.numel()) * max(value, 0) + int(flat[0])
            return steps.clamp(max=int(flat[-1])).to(kind).reshape(tensor.shape)
    if everywhere:
        return torch.full_like(values, value)
    flat = values.reshape(-1).clone()
    flat[int(torch.randint(flat.numel(), (), generator=generator))] = value
    return flat.reshape(values.shape)


def _numbers(shape: Any, generator: Any) -> Any:
    """Return non-zero numbers of both signs, far enough apart that rounding hides no difference."""
    sizes = torch.randint(1, 12, shape, generator=generator) + 0.25
    signs = torch.randint(2, shape, generator=generator) * 2 - 1
    return sizes * signs


def _integers(tensor: Any, boldness: int, generator: Any, strictly: bool) -> Any:
    """Return integers from the range of the present ones, or from a slightly larger range."""
    flat = tensor.reshape(-1).to(torch.int64)
    low, high = int(flat.min()), int(flat.max())
    if boldness in _LARGEST_GUESSES:
        # Extend the range; but extend a tight range only if all integers were equal.
        if boldness != TIGHT or low == high:
            high = max(high, low + _LARGEST_GUESSES[boldness])
        new = torch.randint(low, high + 1, flat.shape, generator=generator)
        if strictly and flat.unique().numel() == flat.numel() <= high + 1 - low <= _MOST_PLACES:
            new = _distinct(flat, low, high, generator, rising=boldness != WILD and _rises(flat))
        elif boldness != WILD and _rises(flat):
            new = new.clamp(max=int(flat[-1])).sort().values
            new[-1] = flat[-1]
            new[0] = new[0] if int(flat[0]) else 0
    elif low == high:
        new = flat + torch.randint(2, flat.shape, generator=generator)
    else:
        new = flat[torch.randperm(flat.numel(), generator=generator)]
    return new.reshape(tensor.shape)


def _distinct(flat: Any, low: int, high: int, generator: Any, *, rising: bool) -> Any:
    if not rising:
        return torch.randperm(high + 1 - low, generator=generator)[: flat.numel()] + low
    # The first and the last integer stay the same.
    first, last = (int(one) for one in flat[[0, -1]])
    inner = torch.randperm(last - first - 1, generator=generator)[: flat.numel() - 2] + first + 1
    return torch.cat([flat[:1], inner.sort().values, flat[-1:]])


def _rises(flat: Any) -> bool:
    return flat.numel() > 1 and int(flat[-1]) > int(flat[0]) and bool((flat.diff() >= 0).all())


_MOST_PLACES = 1 << 20
_ATTEMPTS = 10
"""How many attempts with one boldness are made before a milder one: the program may accept few values."""

Run = Callable[[Question], Answer]
"""Runs a batch on other values."""


def settled(question: Question, choosable: Iterable[int], run: Run) -> Question:
    """Return a rejected question with the boldest values that the program accepts input by input.

    For example, an index has to stay within its table, but lengths beside it may still vary. `choosable` are
    the numbers of the inputs for which perhaps only some values are allowed.
    """
    wished = question.boldness
    found = replace(question, boldness=(CAREFUL,) * len(wished))
    for number in choosable:
        for boldness in range(wished[number], CAREFUL):
            bolder = replace(found, boldness=_with(found.boldness, number, boldness))
            answers = (run(replace(bolder, attempt=one)) for one in range(_ATTEMPTS))
            if any(_varied(answer, number) for answer in answers):
                found = bolder
                break
    return found


def _varied(answer: Answer, number: int) -> bool:
    """Return whether a run accepted new values of this input that really were different."""
    return bool(answer.trouble) or (not answer.error and number in answer.value.varied)


def taken(question: Question, run: Run) -> tuple[Question, Answer]:
    """Return a question and its answer, after making the question milder as long as the program
    fails on it.
    """
    for milder in _milder(question):
        for attempt in range(_ATTEMPTS if milder.varying or milder.groups else 1):
            question = replace(milder, attempt=attempt)
            answer = run(question)
            if not answer.error:
                return question, answer
    return question, answer


def _milder(question: Question) -> Iterator[Question]:
    yield question
    while question.varying:
        question = replace(question, boldness=tuple(min(one + 1, CAREFUL) for one in question.boldness))
        yield question
    if question.groups:
        yield replace(question, groups=())


def varied_since(first: Any, run: Any, question: Question) -> frozenset[int]:
    """Return the numbers of the inputs that had other values in a run.

    If the program itself fills them, the values are compared with those of its first run, because it may
    ignore the seed.
    """
    if not question.prepared:
        varied: frozenset[int] = run.varied
        return varied
    each = enumerate(zip(first.given, run.given, strict=True))
    return frozenset(
        number
        for number, (one, other) in each
        if isinstance(one, torch.Tensor) and not (isinstance(other, torch.Tensor) and torch.equal(one, other))
    )


def wildly(question: Question) -> Question:
    """Return the question with values that need not keep ascending integers ascending."""
    return replace(question, boldness=tuple(WILD if one == BOLD else one for one in question.boldness))


def with_contrary_flags(question: Question) -> Question:
    """Return the question with all flags negated, in each tensor of flags that may vary."""
    each = zip(question.inputs, question.boldness, strict=True)
    contrary = (CONTRARY if view.dtype is torch.bool and one != CAREFUL else one for view, one in each)
    return replace(question, boldness=tuple(contrary))


def _with(boldness: tuple[int, ...], number: int, value: int) -> tuple[int, ...]:
    return (*boldness[:number], value, *boldness[number + 1 :])
