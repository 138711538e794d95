"""Which captured batch runs in place of a wanted one: the rule, and the table against a plain search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.graphs import BatchDescriptor, Mode, in_place_of
from coldfork.graphs.descriptors import Table

FULL, PIECEWISE, NONE = Mode.FULL, Mode.PIECEWISE, Mode.NONE


@dataclass(frozen=True)
class Named(BatchDescriptor):
    name: str = ""


def one(mode: Mode, tokens: int, **rest: int) -> BatchDescriptor:
    """A descriptor in few words."""
    return BatchDescriptor(mode, tokens, **rest)


ROWS: dict[str, tuple[list[BatchDescriptor], BatchDescriptor, BatchDescriptor | None]] = {
    "what was captured runs as it is": ([one(FULL, 4), one(FULL, 8)], one(FULL, 4), one(FULL, 4)),
    "a smaller one is padded to the next": ([one(FULL, 4), one(FULL, 8)], one(FULL, 5), one(FULL, 8)),
    "a larger one runs eagerly": ([one(FULL, 4)], one(FULL, 5), None),
    "there must be room for the requests": (
        [one(FULL, 4, requests=2), one(FULL, 8, requests=4)],
        one(FULL, 3, requests=3),
        one(FULL, 8, requests=4),
    ),
    "a graph that depends on requests wants to know how many": (
        [one(FULL, 4, requests=4)],
        one(FULL, 4),
        None,
    ),
    "a uniform batch prefers its like": (
        [one(FULL, 8), one(FULL, 16, uniform_tokens=2)],
        one(FULL, 8, uniform_tokens=2),
        one(FULL, 16, uniform_tokens=2),
    ),
    "a uniform batch runs as a mixed one": (
        [one(FULL, 8), one(FULL, 16, uniform_tokens=4)],
        one(FULL, 8, uniform_tokens=2),
        one(FULL, 8),
    ),
    "a mixed batch never runs as a uniform one": ([one(FULL, 8, uniform_tokens=2)], one(FULL, 8), None),
    "what has no full graph runs in pieces": (
        [one(PIECEWISE, 8), one(FULL, 4)],
        one(FULL, 6, requests=3),
        one(PIECEWISE, 8),
    ),
    "what is to run in pieces never runs in a full graph": ([one(FULL, 8)], one(PIECEWISE, 8), None),
    "what is to run eagerly does": ([one(FULL, 8), one(PIECEWISE, 8)], one(NONE, 8), None),
    "adapters are rounded up": (
        [one(FULL, 8), one(FULL, 8, loras=1), one(FULL, 8, loras=4)],
        one(FULL, 8, loras=2),
        one(FULL, 8, loras=4),
    ),
    "as few adapters as will do, and then as few tokens": (
        [one(FULL, 8, loras=8), one(FULL, 16, loras=4), one(FULL, 32, loras=4)],
        one(FULL, 8, loras=3),
        one(FULL, 16, loras=4),
    ),
    "more adapters where there is no room otherwise": (
        [one(FULL, 8, loras=2), one(FULL, 16, loras=4)],
        one(FULL, 12, loras=2),
        one(FULL, 16, loras=4),
    ),
    "queries must not be too long": (
        [one(FULL, 8, longest_query=1), one(FULL, 8, longest_query=4), one(FULL, 8)],
        one(FULL, 8, longest_query=3),
        one(FULL, 8, longest_query=4),
    ),
    "any graph of another length of queries is for all": (
        [one(FULL, 8, longest_query=1), one(FULL, 8)],
        one(FULL, 8, longest_query=3),
        one(FULL, 8),
    ),
    "parts that run beside each other are as many": ([one(FULL, 8, microbatches=2)], one(FULL, 8), None),
    "another class is another batch": ([Named(FULL, 8)], one(FULL, 8), None),
    "what a program adds must be the same": ([Named(FULL, 8, name="a")], Named(FULL, 8, name="b"), None),
}


@pytest.mark.parametrize(("captured", "wanted", "answer"), ROWS.values(), ids=ROWS)
def test_the_rule(
    captured: list[BatchDescriptor], wanted: BatchDescriptor, answer: BatchDescriptor | None
) -> None:
    table = Table(captured, in_place_of)
    assert table.find(wanted) == answer
    assert table.find(wanted) == answer  # the second time from what is remembered


def test_another_rule() -> None:
    def never_padded(wanted: BatchDescriptor) -> Iterable[BatchDescriptor]:
        return ()

    table = Table([one(FULL, 4), one(FULL, 8)], never_padded)
    assert table.find(one(FULL, 4)) == one(FULL, 4)
    assert table.find(one(FULL, 3)) is None


MAYBE = st.none() | st.integers(1, 4)
DESCRIPTORS = st.builds(
    BatchDescriptor,
    st.sampled_from([FULL, PIECEWISE]),
    st.integers(1, 12),
    MAYBE,
    MAYBE,
    loras=st.integers(0, 3),
    longest_query=MAYBE,
    microbatches=st.integers(1, 2),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(DESCRIPTORS, max_size=12), st.lists(DESCRIPTORS, min_size=1, max_size=6))
def test_the_table_finds_what_a_search_finds(
    captured: list[BatchDescriptor], wanted: list[BatchDescriptor]
) -> None:
    table = Table(captured, in_place_of)
    for each in wanted:
        assert table.find(each) == _searched(captured, each)


def _searched(captured: list[BatchDescriptor], wanted: BatchDescriptor) -> BatchDescriptor | None:
    if wanted in captured:
        return wanted
    for kind in in_place_of(wanted):
        fitting = [found for found in captured if found.covers(kind)]
        if fitting:
            return min(fitting, key=lambda found: (found.loras, *found.size))
    return None


@given(st.lists(DESCRIPTORS, min_size=1, max_size=4))
def test_every_rank_has_room_in_what_all_run(ranks: list[BatchDescriptor]) -> None:
    everybody = ranks[0].joined(*ranks[1:])
    for rank in ranks:
        assert everybody.tokens >= rank.tokens
        assert everybody.loras >= rank.loras
        assert everybody.mode is FULL or PIECEWISE in {one.mode for one in ranks}
        assert everybody.uniform_tokens in (None, rank.uniform_tokens)
        # Each asks with its own numbers in the shape that all have agreed on.
        asked = replace(
            rank,
            mode=everybody.mode,
            uniform_tokens=everybody.uniform_tokens,
            microbatches=everybody.microbatches,
        )
        assert everybody.covers(asked) or None in (rank.requests, rank.longest_query)


def test_a_padded_batch_is_found_with_no_search() -> None:
    """Counted, not timed: what is asked for again looks at no captured batch."""
    looked = 0

    @dataclass(frozen=True)
    class Counting(BatchDescriptor):
        def covers(self, wanted: BatchDescriptor) -> bool:
            nonlocal looked
            looked += 1
            return super().covers(wanted)

    table = Table([Counting(FULL, size) for size in range(8, 8008, 8)], in_place_of)
    assert table.find(Counting(FULL, 4001)) == Counting(FULL, 4008)
    assert looked == 1
    assert table.find(Counting(FULL, 4001)) == Counting(FULL, 4008)
    assert looked == 1
