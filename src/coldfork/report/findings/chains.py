"""The chains of one report: long ones are shortened, and an ending that several share is shown once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coldfork.model.effects import Chain, Step

LONGEST = 12
"""A chain with more steps than this is shortened in the middle."""
_BEGINNING = 7
_END = 4
_SHORTEST_SHARED = 4

_Tail = tuple[tuple[str, str | None, int | None], ...]


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step of a chain that is shown; `number` counts the steps after the finding's own line."""

    number: int
    step: Step


@dataclass(frozen=True, slots=True)
class Gap:
    """A run of omitted steps: their number, and the line whose chain shows them, if there is one."""

    count: int
    shown_at: str | None


class Folder:
    """Shortens the chains of one report, which must be passed in the order of printing."""

    def __init__(self) -> None:
        self._first_shown: dict[_Tail, str] = {}

    def fold(self, chain: Chain, site: str) -> tuple[ShownStep | Gap, ...]:
        """Return the rows to print below a finding: the steps of its chain, with a gap for omitted ones."""
        steps = chain.steps[1:]
        keys = tuple((step.symbol, step.path, step.line) for step in steps)
        shared = self._longest_shared(keys)
        shown_at = None if shared is None else self._first_shown[keys[shared:]]
        left_out = _left_out(len(steps), shared)
        self._remember(keys, left_out, site)
        return tuple(_lines(steps, left_out, shared, shown_at))

    def _longest_shared(self, keys: _Tail) -> int | None:
        for start in range(len(keys) - _SHORTEST_SHARED + 1):
            if keys[start:] in self._first_shown:
                return start
        return None

    def _remember(self, keys: _Tail, left_out: range, site: str) -> None:
        # Later findings may refer only to an ending that is printed in full here.
        for start in range(left_out.stop, len(keys) - _SHORTEST_SHARED + 1):
            self._first_shown.setdefault(keys[start:], site)


def _left_out(length: int, shared: int | None) -> range:
    """Return the indexes of the steps that are omitted, which always form one run."""
    if shared is not None:
        return range(min(shared + 1, _BEGINNING), length - 1)
    if length > LONGEST:
        return range(_BEGINNING, length - _END)
    return range(0)


def _lines(
    steps: tuple[Step, ...], left_out: range, shared: int | None, shown_at: str | None
) -> Iterator[ShownStep | Gap]:
    for index, step in enumerate(steps):
        if index not in left_out:
            yield ShownStep(index + 1, step)
        elif index == left_out.start:
            wholly_shared = shared is not None and left_out.start > shared
            yield Gap(len(left_out), shown_at if wholly_shared else None)
