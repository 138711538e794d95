"""Operators on constants, and whose objects they are: CPython is asked."""

from __future__ import annotations

import collections.abc
import numbers
import operator
import types
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.source.semantics.classes import any_of, belongs
from coldfork.source.semantics.constants import LONGEST, combine, compare, container, negate
from coldfork.source.values.kinds import Const

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "ab", b"a", 1.5]))
VALUES = st.one_of(SCALARS, st.tuples(SCALARS, SCALARS), st.lists(SCALARS, max_size=2))
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "or": operator.or_, "and": operator.and_,
    "xor": operator.xor,
}  # fmt: skip


@given(VALUES, st.sampled_from(COMPARISONS), VALUES)
def test_comparisons(left: object, name: str, right: object) -> None:
    try:
        wanted = eval(f"left {name} right", {"left": left, "right": right})
    except (TypeError, ValueError):
        wanted = None
    assert compare(name, left, right) is wanted


@pytest.mark.parametrize("number", [-1, 256])
def test_what_no_byte_can_be_is_not_answered(number: int) -> None:
    with pytest.raises(ValueError, match="byte must be"):
        assert number in b"a"
    assert compare("in", number, b"a") is None


SAME_OR_NOT = [(None, None), (1, 1), (1, True), (0, False), ("a", "a"), (1, 2), (1, 1.0)]


@pytest.mark.parametrize(("left", "right"), SAME_OR_NOT)
def test_identity_is_that_of_equal_constants_of_one_type(left: object, right: object) -> None:
    same = left == right and type(left) is type(right)
    assert (compare("is", left, right), compare("is not", left, right)) == (same, not same)


@given(VALUES, st.sampled_from(sorted(ARITHMETIC)), VALUES)
def test_arithmetic(left: object, name: str, right: object) -> None:
    try:
        wanted = ARITHMETIC[name](left, right)
    except Exception:
        wanted = None
        assert combine(name, left, right) is None
    else:
        made = combine(name, left, right)
        assert made is not None
        assert (type(made.value), made.value) == (type(wanted), wanted)


def test_what_gets_long_is_not_made() -> None:
    assert combine("add", "a" * (LONGEST - 1), "b") == Const("a" * (LONGEST - 1) + "b")
    assert combine("add", "a" * LONGEST, "b") is None
    assert combine("mul", "a", LONGEST) == Const("a" * LONGEST)
    assert combine("mul", "a", 10**15) is None
    assert combine("mul", 10**15, (1,)) is None
    assert combine("pow", 2, 3) is None


@pytest.mark.parametrize("value", [0, 1, -4, True])
def test_unary_operators(value: int) -> None:
    made = [negate(name, value) for name in ("neg", "pos", "invert")]
    assert made == [Const(-value), Const(+value), Const(-value - 1)]
    assert negate("neg", "a") is None


def test_containers_of_constants() -> None:
    items = [Const(1), Const("a")]
    made = [container(kind, items) for kind in ("list", "tuple", "set")]
    assert [one.value for one in made if one] == [[1, "a"], (1, "a"), {1, "a"}]
    assert container("tuple", [Const(1), None]) is None
    assert container("generator", items) is None
    assert container("set", [Const([1])]) is None


@pytest.mark.parametrize("own", [int, bool, str, tuple, dict, type(None), types.FunctionType, type])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("int", int),
        ("builtins.str", str),
        ("object", object),
        ("type", type),
        ("types.FunctionType", types.FunctionType),
        ("collections.abc.Callable", collections.abc.Callable),
        ("typing.Callable", typing.Callable),
        ("collections.abc.Sequence", collections.abc.Sequence),
        ("numbers.Integral", numbers.Integral),
    ],
)
def test_classes_of_pythons_own(own: type, name: str, kind: type) -> None:
    assert belongs(own, name) is issubclass(own, kind)


@pytest.mark.parametrize(
    "name",
    [
        "elsewhere.foreign",
        "elsewhere.Mapping",
        "elsewhere.ArrayLike",
        "pathlib.Path",
        "nothing",
        "builtins.nothing",
        "print",
        "math.pi",
    ],
)
def test_nothing_is_known_of_other_names(name: str) -> None:
    assert belongs(int, name) is None


def test_objects_of_pythons_own_are_of_no_class_of_a_library() -> None:
    assert belongs(list, "elsewhere.frames.Table") is False


def test_one_of_several() -> None:
    assert any_of([False, None, True]) is True
    assert any_of([False, None]) is None
    assert any_of([False, False]) is False
    assert any_of([]) is False
