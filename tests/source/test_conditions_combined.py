"""Conditions that are combined say what their parts say together, whatever the outcome of each test."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from hypothesis import example, given
from hypothesis import strategies as st

from coldfork.source.values.conditions import Condition, Conditions, all_of, any_of, either, negated

NAMES = "abcd"
A, B, C, _D = (Condition(words=name) for name in NAMES)

single = st.sampled_from([Condition(words=name) for name in NAMES]) | st.sampled_from(
    [Condition(words=name, negated=True) for name in NAMES]
)


def several(parts: list[Condition], every: bool) -> Condition:
    return (all_of(*parts) if every else any_of(*parts)) or parts[0]


combined = single | st.builds(several, st.lists(single, min_size=2, max_size=3), st.booleans())
ways = st.lists(st.lists(combined, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4)


def holds(condition: Condition, world: Mapping[str, bool]) -> bool:
    if condition.some:
        return any(holds(part, world) for part in condition.some)
    if condition.every:
        return all(holds(part, world) for part in condition.every)
    return world[condition.words] is not condition.negated


@given(ways)
@example([(Condition(some=(A, B)), negated(A)), (A, C)])
def test_one_of_several_ways_is_open_exactly_where_what_is_said_holds(given_ways: list[Conditions]) -> None:
    said = either(given_ways)
    if any("many" in one.words for one in said):
        return
    for outcomes in itertools.product((False, True), repeat=len(NAMES)):
        world = dict(zip(NAMES, outcomes, strict=True))
        opened = any(all(holds(one, world) for one in way) for way in given_ways)
        assert all(holds(one, world) for one in said) is opened, (world, said)
