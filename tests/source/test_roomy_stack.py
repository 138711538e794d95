"""Deep calls, again and again, ask the system for no memory where there is room for them."""

from __future__ import annotations

import pytest

from coldfork.source.files.roomy_stack import with_room

resource = pytest.importorskip("resource", reason="there is no count of page faults here")

DESCENTS = 1_000
DEPTH = 400


def down(depth: int) -> int:
    return 0 if depth == 0 else 1 + down(depth - 1)


def faults() -> int:
    """How many pages were made anew while calls went deep and came back."""
    for _ in range(100):
        down(DEPTH)  # what is asked for once, for whatever reason
    before: int = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(DESCENTS):
        down(DEPTH)
    after: int = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return after - before


def test_deep_calls_get_the_same_memory_again() -> None:
    assert with_room(faults) < DESCENTS // 2


def test_what_is_called_gets_its_arguments_and_says_what_it_says() -> None:
    assert with_room(divmod, 7, 2) == (3, 1)
    assert with_room(sorted, [1, 3, 2], reverse=True) == [3, 2, 1]
    with pytest.raises(ZeroDivisionError):
        with_room(divmod, 7, 0)
