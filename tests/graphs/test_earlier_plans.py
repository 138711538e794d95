"""What a program kept from a run before the check is no part of its model, unless it cannot make it anew."""

from __future__ import annotations

import functools
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from coldfork.graphs import check
from coldfork.graphs.descriptors import Mode, Phase
from tests.amounts import step
from tests.graphs.holders import DESCRIPTOR, HOLDERS, Program

torch: Any = pytest.importorskip("torch")


def checked_after_a_run(program: Program, folder: Path, *, declared: bool) -> Any:
    """The answer where the program has served a batch already."""
    loaded = program.load(folder)
    loaded["tokens"].copy_(torch.arange(1.0, 9.0))
    loaded["create"](DESCRIPTOR, Phase.CAPTURE)[0](Mode.NONE)
    return check(loaded["create"], [DESCRIPTOR], inputs=[loaded["tokens"]] if declared else None)


KEPT_IN = "cache", "dictionary", "attribute", "global", "closure", "slots", "class attribute", "deque", "set"


# What the inputs are, guessed or told, has little to do with where a plan is kept.
@pytest.mark.parametrize(
    ("holder", "declared"),
    [*product(KEPT_IN, [True]), *product(KEPT_IN[:: step(4)], [False])],
)
def test_a_plan_of_an_earlier_batch_is_found(tmp_path: Path, holder: str, declared: bool) -> None:
    report = checked_after_a_run(Program(holder, "prefix sums", False), tmp_path, declared=declared)
    assert report.answer == "leaks", str(report)
    assert any("program.py" in str(leak) for leak in report.leaks)


@pytest.mark.parametrize("holder", ["cache", "attribute", "array"])
def test_a_number_of_an_earlier_batch_is_found(tmp_path: Path, holder: str) -> None:
    assert checked_after_a_run(Program(holder, "largest", False), tmp_path, declared=True).leaks


@pytest.mark.parametrize(
    ("holder", "why"),
    [
        ("context variable", "its holder, such as a generator's frame, was not found"),
        ("generator", "its holder, such as a generator's frame, was not found"),
        ("buffer", "it was changed in place before the check"),
        ("thread pool", "another thread computes it again"),
    ],
)
def test_what_cannot_be_told_from_the_model_is_not_compared(tmp_path: Path, holder: str, why: str) -> None:
    report = checked_after_a_run(Program(holder, "prefix sums", False), tmp_path, declared=True)
    assert report.answer == "not compared", str(report)
    assert why in " ".join(gap.why for gap in report.not_compared), str(report)


_FAILING = """\
class Kept(dict):
    def items(self):
        raise RuntimeError("not now")
kept = Kept()
"""


def test_a_search_that_fails_is_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOLDERS, "failing dictionary", (_FAILING, *HOLDERS["dictionary"][1:]))
    program = Program("failing dictionary", "prefix sums", False)
    report = checked_after_a_run(program, tmp_path, declared=True)
    assert [gap.why for gap in report.not_compared] == ["RuntimeError: not now"]


@pytest.mark.parametrize("value", ["ones", "noise"])
@pytest.mark.parametrize("holder", ["cache", "dictionary", "attribute"])
def test_what_is_the_same_for_each_batch_stays(tmp_path: Path, holder: str, value: str) -> None:
    report = checked_after_a_run(Program(holder, value, False), tmp_path, declared=True)
    assert report.answer == "clean", str(report)


@pytest.mark.must_hold
@pytest.mark.parametrize(("value", "answer"), [("ones", "clean"), ("largest", "leaks")])
def test_hundreds_of_cached_functions_are_searched(tmp_path: Path, value: str, answer: str) -> None:
    others = [functools.cache(lambda number=number: number) for number in range(200)]
    assert [other() for other in others] == list(range(200))
    report = checked_after_a_run(Program("cache", value, False), tmp_path, declared=True)
    assert report.answer == answer, str(report)
