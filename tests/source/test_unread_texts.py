"""Calls that differ in a text that they never look at come to the same; all others are told apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coldfork.source.evaluation.memo import NOTHING, Key, UnreadTexts, anew
from coldfork.source.values.kinds import NONE, TRUE, UNKNOWN, Const, External, Sequence, Value
from coldfork.source.values.rarer_kinds import GivenText, is_text, look_at
from coldfork.source.values.unions import truth
from tests.source.expectations import observe, write
from tests.source.test_effort import followed

__all__ = ["followed"]  # a fixture of another file


def key(*positional: Value) -> Key:
    return "f", positional, (), (), False


def asked_after(asked: UnreadTexts, first: Value, look: bool, value: Value = NONE) -> bool:
    """Whether a call for any text is known once one has been followed that looked at its own, or did not."""
    (given,) = asked.watched(key(first), (first,))
    if look:
        look_at((given,))
    return asked.learn(key(first), (given,), NOTHING._replace(value=value), unchanged=True) is not None


def test_a_text_says_whether_anybody_looked_at_it() -> None:
    text = GivenText(Const("a"))
    assert is_text(text)
    assert text.unwatched == Const("a")
    assert not text.read
    assert text.value == "a"
    assert text.read


@pytest.mark.parametrize(
    "look",
    [hash, truth, lambda text: text == Const("b"), lambda text: Const("b") == text],
    ids=["hash", "truth", "left", "right"],
)
def test_comparing_and_hashing_a_text_is_looking_at_it(look: Callable[[GivenText], object]) -> None:
    text = GivenText(Const("a"))
    look(text)
    assert text.read


def test_a_text_that_was_handed_on_is_looked_at_in_both_places() -> None:
    outer = GivenText(Const("a"))
    inner = GivenText(GivenText(outer))
    assert inner.unwatched == Const("a")
    assert not outer.read
    assert inner.value == "a"
    assert outer.read


def test_a_call_that_looks_at_nothing_stands_for_all() -> None:
    asked = UnreadTexts()
    assert asked_after(asked, Const("a"), look=False)
    assert asked.for_any(key(Const("b"))) == asked.for_any(key(Const("c"))) is not None
    assert asked.for_any(key(Const(1))) is None, "what is no text may make a difference"
    assert asked.for_any(key()) is None
    assert asked.for_any(key(Const("b"), TRUE)) != asked.for_any(key(Const("b")))


def test_a_call_that_looks_stands_for_itself_and_the_next_are_not_watched() -> None:
    asked = UnreadTexts()
    assert not asked_after(asked, Const("a"), look=True)
    assert asked.for_any(key(Const("b"))) is None
    given = (Const("b"),)
    assert asked.watched(key(*given), given) is given


@pytest.mark.parametrize("value", [Sequence("list", (Const("a"),)), GivenText(Const("a"))])
def test_a_call_whose_result_may_hold_the_text_stands_for_itself(value: Value) -> None:
    assert not asked_after(UnreadTexts(), Const("a"), look=False, value=value)


def test_a_later_call_that_looks_after_all_stands_for_itself() -> None:
    asked = UnreadTexts()
    assert asked_after(asked, Const("a"), look=False)
    assert not asked_after(asked, Const("b"), look=True)


def test_a_call_that_changes_something_stands_for_itself() -> None:
    asked = UnreadTexts()
    given = asked.watched(key(Const("a")), (Const("a"),))
    assert asked.learn(key(Const("a")), given, NOTHING, unchanged=False) is None


def test_only_an_object_that_was_made_up_is_made_again() -> None:
    shared = NOTHING._replace(value=External("x"))
    assert anew(shared) is shared
    assert anew(NOTHING._replace(value=UNKNOWN, made_up=True)).value is UNKNOWN


def test_a_function_that_ignores_the_name_is_followed_once_for_all_modules(
    followed: list[str], tmp_path: Path
) -> None:
    helper = "import logging\n\ndef make(name):\n    return logging.getLogger(name)\n"
    files = {f"pkg/m{n}.py": "from pkg.log import make\n\nlog = make(__name__)\n" for n in range(9)}
    write({"pkg/__init__.py": "", "pkg/log.py": helper, **files}, tmp_path)
    observe([tmp_path])
    assert followed == ["make"]


@pytest.mark.parametrize(
    "look",
    [
        "if name == 'pkg.m5':",
        "if name.endswith('5'):",
        "if name in ('pkg.m5', 'x'):",
        "if same(name):",
        "if {'pkg.m5': 1}.get(name):",
        "if keep(name) == 'pkg.m5':",
        "if Box(name).name == 'pkg.m5':",
        "if [name][0] == 'pkg.m5':",
        "if f'{name}!' == 'pkg.m5!':",
        "if name + '!' == 'pkg.m5!':",
        "if len(name) == 0 or name[-1] == '5':",
    ],
)
def test_a_function_that_looks_at_the_name_wakes_for_the_one_that_it_means(look: str, tmp_path: Path) -> None:
    helper = f"""
import torch

def same(name):
    return name == "pkg.m5"

def keep(name):
    return name

class Box:
    def __init__(self, name):
        self.name = name

def register(name):
    {look}
        torch.cuda.init()
"""
    files = {f"pkg/m{n}.py": "from pkg.log import register\n\nregister(__name__)\n" for n in range(9)}
    write({"pkg/__init__.py": "", "pkg/log.py": helper, **files}, tmp_path)
    assert [effect.module for effect in observe([tmp_path]).effects] == ["pkg.m5"]


def test_what_is_known_for_a_text_is_a_look_at_it(tmp_path: Path) -> None:
    helper = """
import torch

def same(name):
    return name == "pkg.m5"

def register(name):
    if same(name):
        torch.cuda.init()
"""
    files = {f"pkg/m{n}.py": "from pkg.log import register\n\nregister(__name__)\n" for n in range(9)}
    asking = "from pkg.log import same\n\nanswer = [same('pkg.m0'), same('pkg.m1')]\n"
    write(
        {"pkg/__init__.py": "", "pkg/asking.py": asking + "print(answer)\n", "pkg/log.py": helper, **files},
        tmp_path,
    )
    assert [effect.module for effect in observe([tmp_path]).effects] == ["pkg.m5"]
