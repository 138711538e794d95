"""Which changes are tried: a sample that is the same for the same seed, with something from every room."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

from mutants.operators import Mutant


def sample(
    rooms: Mapping[str, Iterable[Mutant]], size: int, seed: int, is_valid: Callable[[Mutant], bool]
) -> list[Mutant]:
    """Draw changes from rooms: more from larger ones, but no room less than a tenth; one a line at most."""
    lines = {room: _one_a_line(found, seed) for room, found in rooms.items()}
    drawn: list[Mutant] = []
    for room, wanted in shares({room: len(found) for room, found in lines.items()}, size).items():
        taken: list[Mutant] = []
        for mutant in lines[room]:
            if len(taken) == wanted:
                break
            if is_valid(mutant):
                taken.append(mutant)
        drawn += taken
    return drawn


def shares(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """How many of a total each room gives."""
    everything = sum(sizes.values())
    if total >= everything:
        return dict(sizes)
    given = {room: min(size, max(total * size // everything, total // 10)) for room, size in sizes.items()}
    by_size = sorted(sizes, key=lambda room: -sizes[room])
    while (left := total - sum(given.values())) > 0:
        given[next(room for room in by_size if given[room] < sizes[room])] += min(
            left, next(sizes[room] - given[room] for room in by_size if given[room] < sizes[room])
        )
    while sum(given.values()) > total:
        given[max(given, key=lambda room: given[room])] -= 1
    return given


def _one_a_line(found: Iterable[Mutant], seed: int) -> list[Mutant]:
    """The changes in an order that only the seed and the changes decide, the first of each line."""
    lines: dict[tuple[str, int], Mutant] = {}
    for mutant in sorted(found, key=lambda one: _rank(one, seed)):
        lines.setdefault((mutant.path, mutant.line), mutant)
    return list(lines.values())


def _rank(mutant: Mutant, seed: int) -> tuple[bytes, Mutant]:
    return hashlib.sha256(f"{seed}\0{mutant.key}".encode()).digest(), mutant
