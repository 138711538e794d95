"""Comparisons of a value with a number far from what was captured are found, and no more than those."""

from __future__ import annotations

import os
import signal
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, LeakKind, Mode, Phase, check
from coldfork.graphs.findings import Report
from coldfork.graphs.trials import host_reads
from tests import amounts
from tests.graphs.engine import torch

DESCRIPTOR = BatchDescriptor(Mode.FULL, 4)
LONG = 700
SIZES = (96, 640, 8192)
CONFIG = {"cascade": 350}


def some(names: Iterable[str], step: int) -> list[str]:
    """Of names every so many, where not all are asked for: each takes a second."""
    return list(names)[:: amounts.step(step)]


class Policy:
    split = 2000

    def __init__(self) -> None:
        self.block = 16


POLICY = Policy()


def above(size: int, limit: int = 300) -> bool:
    return size > limit


#: What is decided by the longest of lengths that are all 1 when they are captured.
BY_THE_LONGEST: dict[str, Callable[[int], Any]] = {
    "literal": lambda longest: longest > 64,
    "another literal": lambda longest: longest >= 1024,
    "global": lambda longest: longest >= LONG,
    "global, just between": lambda longest: LONG < longest < LONG + 2,
    "class attribute": lambda longest: longest > POLICY.split,
    "computed": lambda longest: longest > POLICY.block * 12,
    "number of blocks": lambda longest: (longest + 15) // 16 > 9,
    "item of a mapping": lambda longest: longest > CONFIG["cascade"],
    "default": above,
    "one value": lambda longest: longest == 77,
    "some values": lambda longest: longest in (1, 48, 4096),
    "bucket": lambda longest: bisect_left(SIZES, longest),
    "range": lambda longest: 200 < longest <= 400,
    "not too far": lambda longest: 64 < longest < 90_000,
}

#: What is decided by all lengths, each as they come.
BY_ALL: dict[str, Callable[[Any], Any]] = {
    "all long": lambda lengths: bool((lengths > 128).all()),
    "any long": lambda lengths: bool((lengths > 128).any()),
    "sum": lambda lengths: int(lengths.sum()) > 5000,
    "mean": lambda lengths: float(lengths.float().mean()) > 77.5,
    "list": lambda lengths: max(lengths.tolist()) > 90,
    "array": lambda lengths: int(lengths.numpy().max()) > 90,
    "one of them": lambda lengths: int(lengths[2]) > 90,
    "loop": lambda lengths: [one for one in lengths if one > 90] != [],
}


def _at_build(decide: Callable[[], Any]) -> tuple[Callable[[], None], Callable[[], Any]]:
    decided: list[Any] = []
    return lambda: decided.append(decide()), lambda: decided[-1]


def _in_an_attribute(decide: Callable[[], Any]) -> tuple[Callable[[], None], Callable[[], Any]]:
    kept = SimpleNamespace(decided=None)

    def get() -> Any:
        if kept.decided is None:
            kept.decided = decide()
        return kept.decided

    return (lambda: None), get


def _in_a_cache(decide: Callable[[], Any]) -> tuple[Callable[[], None], Callable[[], Any]]:
    return (lambda: None), cache(decide)


HOLDERS = {"build": _at_build, "attribute": _in_an_attribute, "cache": _in_a_cache}


def checked(decide: Callable[[Any], Any], holder: str = "attribute", captured: int = 1) -> Report:
    """Check a program that decides by lengths which were captured as all the same."""
    x, lengths = torch.zeros(4), torch.full((4,), captured, dtype=torch.int32)
    build, get = HOLDERS[holder](lambda: decide(lengths))

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        build()
        return (lambda mode: x * (2 + int(get()))), None

    return check(create, [DESCRIPTOR], inputs=[x, lengths])


@pytest.mark.must_hold
@pytest.mark.parametrize("name", some(BY_THE_LONGEST, 3))
def test_a_choice_by_a_length_that_is_far_away_is_found(name: str) -> None:
    decide = BY_THE_LONGEST[name]
    report = checked(lambda lengths: decide(int(lengths.max())))
    assert report.leaks, str(report)


@pytest.mark.parametrize("name", some(BY_ALL, 3))
def test_a_choice_by_all_lengths_is_found(name: str) -> None:
    assert checked(BY_ALL[name]).leaks


@pytest.mark.parametrize(
    ("holder", "captured"), [("build", 1), ("build", 5000), ("attribute", 5000), ("cache", 1)]
)
def test_it_is_found_from_below_and_from_above_wherever_it_is_kept(holder: str, captured: int) -> None:
    report = checked(lambda lengths: int(lengths.max()) >= 2500, holder, captured)
    constants = [leak for leak in report.leaks if leak.kind is LeakKind.CONSTANT]
    assert constants, str(report)
    assert "a fresh run of another batch gives it" in constants[0].message


def test_a_choice_by_a_number_with_a_fraction_is_found() -> None:
    heat, kept = torch.full((4,), 0.5), list[float]()

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            kept[:] = kept or [2.0 if float(heat.abs().max()) > 37.5 else 3.0]
            return heat * kept[0]

        return forward, None

    assert check(create, [DESCRIPTOR], inputs=[heat]).leaks


@pytest.mark.parametrize(("sign", "compiled"), [(1, False), (-1, False), (1, True)])
def test_a_choice_is_found_that_shows_for_some_values_alone(sign: int, compiled: bool) -> None:
    if compiled:  # what a test compiled before, whether this program uses it or not
        torch.compile(torch.neg, backend="eager")(torch.ones(1))
    x, flags = torch.zeros(4), torch.ones(8, dtype=torch.bool)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        some = bool(flags.any())

        def forward(mode: Mode) -> Any:
            scaled = x * 2 if some else x * 3
            return torch.where(sign * x[0] > 0, scaled, -x)

        return forward, None

    assert check(create, [DESCRIPTOR], inputs=[x, flags]).leaks


def _ends_its_process(longest: int) -> bool:
    if longest > 640:
        os.kill(os.getpid(), signal.SIGKILL)
    return False


def test_a_length_whose_run_does_not_finish_is_not_compared() -> None:
    report = checked(lambda lengths: _ends_its_process(int(lengths.max())), "build")
    assert report.answer == "not compared", str(report)
    assert {gap.what for gap in report.not_compared} == {"inputs[1]"}
    assert "its process ended with signal 9" in str(report)


def test_work_done_on_a_thread_pool_is_followed_too() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert checked(lambda lengths: pool.submit(lambda: int(lengths.max()) > 640).result()).leaks


# --- what is no leak -------------------------------------------------------------------------------------


def _refuses(longest: int) -> bool:
    if longest > 64:
        raise ValueError("too long")
    return False


def _of_a_table(longest: int) -> bool:
    return not (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)[longest] and longest > 64


#: Comparisons whose outcome is the same for every length that the program takes.
HARMLESS: dict[str, Callable[[int], Any]] = {
    "refuses": _refuses,
    "fails": _of_a_table,
    "never and always": lambda longest: longest < -64 or not longest > -64,
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_choice_that_no_length_changes_is_none(name: str) -> None:
    decide = HARMLESS[name]
    report = checked(lambda lengths: decide(int(lengths.max())))
    assert report.leaks == (), str(report)


def test_what_is_only_counted_and_logged_is_no_leak() -> None:
    x, lengths, log = torch.zeros(4), torch.ones(4, dtype=torch.int32), list[str]()

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        longest = int(lengths.max())
        log.append("long" if longest > 64 else "short")
        scratch = torch.zeros(max(longest, 64))
        return (lambda mode: x * scratch[0] + torch.where(lengths > 64, x, -x)), None

    report = check(create, [DESCRIPTOR], inputs=[x, lengths])
    assert report.leaks == (), str(report)


def test_a_run_that_would_take_all_memory_is_not_tried() -> None:
    x, lengths = torch.zeros(4), torch.ones(4, dtype=torch.int32)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        longest = int(lengths.max())
        room = torch.ones(longest, longest, 8, dtype=torch.float64)
        return (lambda mode: x * room[0, 0, 0]), None

    report = check(create, [DESCRIPTOR], inputs=[x, lengths])
    assert report.answer == "clean", str(report)


def test_sequences_begin_where_they_may() -> None:
    x, starts = torch.zeros(8), torch.tensor([0, 2, 4, 6, 8])
    limits: list[int] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        assert int(starts[0]) == 0
        assert int(starts[-1]) == 8
        longest = int(starts.diff().max())
        limits[:] = limits or [longest > 7]
        return (lambda mode: x * (2 + limits[0])), None

    assert check(create, [DESCRIPTOR], inputs=[x, starts]).leaks


class Scratch:
    room = torch.zeros(16)


@pytest.mark.parametrize("measure", [lambda lengths: int(lengths.max()), lambda lengths: int(lengths.sum())])
def test_memory_that_a_longer_batch_exchanges_is_found_by_who_writes_it(
    measure: Callable[[Any], int],
) -> None:
    x, lengths = torch.zeros(4), torch.ones(4, dtype=torch.int32)
    Scratch.room = torch.zeros(16)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        longest = measure(lengths)
        if longest > Scratch.room.numel():
            Scratch.room = torch.zeros(longest)
        room = Scratch.room
        return (lambda mode: room[:4].copy_(x) * 2), None

    report = check(create, [DESCRIPTOR], inputs=[x, lengths])
    assert report.answer == "clean", str(report)


def test_one_long_sequence_among_short_ones_is_tried() -> None:
    assert checked(lambda lengths: int(lengths.max()) > 64 and int(lengths.min()) < 32).leaks


class Strange:
    """As proxies and lazily made settings are."""

    limit = 800

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__":
            raise RuntimeError("nothing may be asked here")
        return object.__getattribute__(self, name)


STRANGE = Strange()


def test_no_object_is_asked_for_more_than_it_holds() -> None:
    report = checked(lambda lengths: STRANGE.limit < int(lengths.max()) < 900)
    assert report.leaks, str(report)


MANY = tuple(range(5_000, 9_000, 100))
"""As many sizes as an engine captures, and all of them large."""


def test_the_smallest_of_many_numbers_is_tried_too() -> None:
    report = checked(lambda lengths: bisect_left((40, *MANY), int(lengths.max())) == 1)
    assert report.leaks, str(report)


def _beside_many(longest: int, numbers: Sequence[int]) -> bool:
    return bisect_left(numbers, longest) > len(numbers)


@pytest.mark.parametrize(("limit", "most"), [("_MOST_RUNS", 40), ("_MOST", 20)])
def test_more_numbers_than_can_be_tried_are_told(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_reads, limit, most)
    report = checked(lambda lengths: _beside_many(int(lengths.max()), MANY), "build")
    assert report.answer == "not compared", str(report)
    assert "with more numbers than" in str(report)
