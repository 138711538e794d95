"""Groups of inputs that can only vary together, such as lengths and the offsets computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, islice, product
from typing import Any

import torch

from coldfork.graphs.trials.beginning import Group, Question, Role
from coldfork.graphs.trials.copies import Answer

_LARGEST_GROUP = 4
_MOST_RUNS = 64
"""The most runs that may be spent on finding groups."""
_ATTEMPTS = 3
_LONGEST = 1 << 12
_FARTHEST = 9

Run = Callable[[Question], Answer]


def grouped(question: Question, held: Mapping[int, Any], run: Run) -> Question:
    """Return the question with inputs that could not vary alone put into groups, if the program accepts
    these.

    `held` are the integer inputs, by number, with their values. Relations among them are preserved, such as
    lengths that add up to offsets, differences or totals. The program's own checks show which relations it
    requires.
    """
    left = held.keys() - question.varying
    tries = islice(_candidates(held, left), _MOST_RUNS // _ATTEMPTS)
    for group in tries:
        if not any(number in left for number, _ in group.members):
            continue
        asked = replace(question, groups=(*question.groups, group))
        for attempt in range(_ATTEMPTS):
            if not run(replace(asked, attempt=attempt)).error:
                question = asked
                left -= {number for number, _ in group.members}
                break
        if not left:
            break
    return question


def moved(group: Group, held: Mapping[int, Any], attempt: int, generator: Any) -> dict[int, Any]:
    """Return new values for the inputs of a group, computed from their present values."""
    steps = _steps(group, held, attempt, generator)
    before = steps.cumsum(0) - steps
    follow = {
        Role.SAME: steps,
        Role.OFFSETS: torch.cat([steps[:0].new_zeros(1), steps.cumsum(0)]),
        Role.STARTS: before,
        Role.TOTAL: steps.sum().reshape(1),
    }
    return {
        number: (held[number].reshape(-1).to(torch.int64) + follow[role]).reshape(held[number].shape)
        for number, role in group.members
    }


def _steps(group: Group, held: Mapping[int, Any], attempt: int, generator: Any) -> Any:
    offsets = [held[number] for number, role in group.members if role is Role.OFFSETS]
    if offsets and attempt % 2 == 0:
        # The new lengths have the same sum, because tokens only move from one sequence to another.
        lengths = offsets[0].reshape(-1).to(torch.int64).diff()
        least = min(1, int(lengths.min()))
        free = int(lengths.sum()) - least * group.size
        cuts = torch.randint(0, free + 1, (group.size - 1,), generator=generator).sort().values
        edges = torch.cat([cuts.new_zeros(1), cuts, cuts.new_full((1,), free)])
        return edges.diff() + least - lengths
    return torch.randint(attempt % 2, _FARTHEST, (group.size,), generator=generator)


def _candidates(held: Mapping[int, Any], left: Iterable[int]) -> Iterator[Group]:
    """Yield every group that some inputs could form, small groups first."""
    wanted = set(left)
    sizes = sorted({size for one in held.values() for size in _sizes(one)}, reverse=True)
    for number in range(2, _LARGEST_GROUP + 1):
        for size in sizes:
            roles = {one: _roles(tensor, size) for one, tensor in held.items()}
            able = [one for one, found in roles.items() if found]
            for members in combinations(able, number):
                if wanted.isdisjoint(members):
                    continue
                for chosen in product(*(roles[one] for one in members)):
                    if any(role is not Role.TOTAL for role in chosen):
                        yield Group(tuple(zip(members, chosen, strict=True)), size)


def _sizes(tensor: Any) -> list[int]:
    number = tensor.numel()
    if not 2 <= number <= _LONGEST:
        return []
    return [number - 1, number] if number > 2 and _rises(tensor) else [number]


def _roles(tensor: Any, size: int) -> list[Role]:
    if tensor.numel() == size:
        return [Role.SAME, Role.STARTS] if _rises(tensor) else [Role.SAME]
    if tensor.numel() == size + 1 and _rises(tensor):
        return [Role.OFFSETS]
    return [Role.TOTAL] if tensor.numel() == 1 else []


def _rises(tensor: Any) -> bool:
    flat = tensor.reshape(-1)
    return bool((flat.diff() >= 0).all()) and int(flat[-1]) > int(flat[0])
