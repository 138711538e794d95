"""Names with several possible values: alike ones count once, and too many never blur the likeliest."""

from __future__ import annotations

import pytest

from coldfork.source.values.conditions import Condition, any_of
from coldfork.source.values.kinds import UNKNOWN, Bound, Const, External, Value
from coldfork.source.values.unions import alternatives, truth, under, union

CONDITION = Condition(words="it rains")


def test_a_method_is_the_same_of_the_same_object_only() -> None:
    first, second, method, other = External("a"), External("b"), External("m"), External("n")
    assert Bound(method, first) == Bound(method, first)
    assert Bound(method, first) != Bound(method, second)
    assert Bound(method, first) != Bound(other, first)
    assert Bound(method, first) != method
    assert len({Bound(method, first), Bound(method, first), Bound(method, second)}) == 2


def numbers(first: int, behind: int) -> list[Value]:
    """Values that differ."""
    return [Const(number) for number in range(first, behind)]


@pytest.mark.parametrize("others", [8, 9, 20])
def test_too_many_unlikely_values_leave_the_likely_one(others: int) -> None:
    found = alternatives(union([Const("likely"), *numbers(0, others)], CONDITION))
    assert [value for value, condition in found if condition is None] == [Const("likely")]
    assert len(found) == 8
    assert found[1:-1] == tuple((value, CONDITION) for value in numbers(0, 6))
    assert found[-1] == (UNKNOWN, CONDITION)


def test_as_many_values_as_fit_are_all_kept() -> None:
    found = alternatives(union(numbers(0, 8), CONDITION))
    assert [value for value, _ in found] == numbers(0, 8)


def test_too_many_likely_values_keep_those_that_can_do_something() -> None:
    found = alternatives(union([*numbers(0, 9), External("torch.cuda.init")]))
    assert found[0] == (External("torch.cuda.init"), None)
    assert found[1:] == (*((value, None) for value in numbers(0, 6)), (UNKNOWN, None))


def test_likely_values_that_just_fit_leave_no_room_for_others() -> None:
    likely = union(numbers(0, 8))
    found = alternatives(union([likely, *numbers(8, 12)], CONDITION))
    assert [value for value, condition in found if condition is None] == numbers(0, 8)
    assert {value for value, condition in found if condition is not None} == {UNKNOWN}


def test_a_value_is_as_likely_as_its_likeliest_way() -> None:
    assert union([Const(1), Const(1)], CONDITION) == Const(1)
    found = alternatives(union([Const(1), Const(2), union([Const(3), Const(2)])]))
    assert [(value, condition) for value, condition in found] == [(one, None) for one in numbers(1, 4)]
    assert union([]) is UNKNOWN


def test_two_unlikely_ways_to_a_value_are_both_told() -> None:
    rains, snows = (Condition(words=words) for words in ("it rains", "it snows"))
    first, second = (union([UNKNOWN, Const(1)], condition) for condition in (rains, snows))
    assert dict(alternatives(union([first, second])))[Const(1)] == any_of(rains, snows)


def test_a_value_under_a_condition_stays_under_it() -> None:
    only = under(Const(1), CONDITION)
    assert alternatives(union([only, only])) == ((Const(1), CONDITION),)
    assert union([only, Const(1)]) == Const(1)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(Const(0), False), (Const("a"), True), (UNKNOWN, None), (Bound(UNKNOWN, UNKNOWN), True)],
)
def test_whether_a_value_is_true(value: Value, wanted: bool | None) -> None:
    assert truth(value) is wanted
