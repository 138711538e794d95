"""The parts of a trial: copies of the process, other values, and where two runs disagree."""

from __future__ import annotations

import cProfile
import os
import pickle
import queue
import random
import signal
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.graphs import (
    BatchDescriptor,
    LeakKind,
    Mode,
    NotComparedError,
    Phase,
    Report,
    assert_replayable,
    check,
)
from coldfork.graphs.leaks.memory import key_of
from coldfork.graphs.trials import beginning, copies
from coldfork.graphs.trials.beginning import CAREFUL, Beginning, Draws, view_of
from coldfork.graphs.trials.copies import Answer, Patience, Standby, Usage
from coldfork.graphs.trials.results import disagreements, results_of, without
from coldfork.graphs.trials.traces import Step, explanations
from coldfork.graphs.trials.variation import BOLD, MILD, TIGHT, WILD, other_values
from coldfork.model.states import Frame
from tests.graphs.engine import torch

LIMIT = 60.0


# --- copies ------------------------------------------------------------------------------------------------


def ask(work: Callable[[], Any], limit: float) -> Answer:
    """Return the result of some work in a copy of this process."""
    standby = Standby(lambda _: work())
    try:
        return standby.ask(None, limit)
    finally:
        standby.close()


def test_a_copy_leaves_nothing_behind_but_its_answer() -> None:
    kept = [1]

    def work() -> tuple[int, Any]:
        kept.append(2)
        return os.getpid(), torch.ones(2)

    answer = ask(work, LIMIT)
    assert answer.given
    assert kept == [1]
    assert answer.value[0] != os.getpid()
    assert answer.value[1].tolist() == [1.0, 1.0]
    with pytest.raises(ChildProcessError):
        os.waitpid(answer.value[0], 0)


def test_what_a_copy_could_not_answer_is_told() -> None:
    assert ask(lambda: 1 / 0, LIMIT).error == "ZeroDivisionError: division by zero"
    assert ask(lambda: os._exit(3), LIMIT).trouble == "its process ended with status 3"
    killed = ask(lambda: os.kill(os.getpid(), signal.SIGKILL), LIMIT)
    assert killed.trouble == "its process ended with signal 9"
    crashed = ask(lambda: os.kill(os.getpid(), signal.SIGSEGV), LIMIT)
    assert (crashed.error, crashed.given) == ("it crashed with SIGSEGV", False)
    assert ask(lambda: time.sleep(LIMIT), 0.2).trouble == "it was not done within 0 s"


def test_a_copy_that_waits_for_a_thread_that_it_does_not_have_is_ended() -> None:
    stuck = ask(queue.SimpleQueue().get, 300)
    assert "waited for another thread" in stuck.trouble


def test_a_copy_that_waits_for_a_processor_is_left_the_time_that_it_needs() -> None:
    """On one processor with four others, one second of work takes five."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    others: list[int] = []
    try:
        for _ in range(4):
            other = os.fork()
            if not other:
                compute(1000.0)
                os._exit(0)
            others.append(other)
        assert ask(lambda: compute(1.0), 2.5) == Answer(2)
    finally:
        os.sched_setaffinity(0, before)
        for other in others:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)


def compute(seconds: float) -> int:
    """Use a processor for so many seconds."""
    while time.process_time() < seconds:
        pass
    return 2


class Machine:
    """A clock, and how a process spends each second."""

    def __init__(self, computes: float, waits: float, asleep: bool) -> None:
        self._each = computes, waits, asleep
        self._seconds = 0.0

    def clock(self) -> float:
        return self._seconds

    def usage(self, process: int) -> Usage:
        computes, waits, asleep = self._each
        return Usage(computes * self._seconds, waits * self._seconds, asleep)

    def ends(self, patience: Patience) -> tuple[float, signal.Signals]:
        """Return when a copy is ended here, and as what."""
        while True:
            self._seconds += 1
            reason = patience.reason_to_end()
            if reason is not None:
                return self._seconds, reason


@pytest.mark.parametrize(
    ("computes", "waits", "asleep", "ended"),
    [
        pytest.param(1.0, 0.0, False, (60.0, signal.SIGALRM), id="alone"),
        pytest.param(0.25, 0.75, False, (240.0, signal.SIGALRM), id="one of four"),
        pytest.param(0.001, 0.999, False, (60_000.0, signal.SIGALRM), id="starved"),
        pytest.param(1.0, 1.0, False, (60.0, signal.SIGALRM), id="while a thread of its own computes"),
        pytest.param(0.1, 0.0, True, (60.0, signal.SIGALRM), id="sleeps and polls"),
        pytest.param(0.001, 0.0, True, (10.0, signal.SIGVTALRM), id="waits for a thread"),
        pytest.param(0.0, 0.0, False, (60.0, signal.SIGALRM), id="reads its memory from a disk"),
    ],
)
def test_the_time_of_a_copy_is_what_it_has_a_processor_for(
    computes: float, waits: float, asleep: bool, ended: tuple[float, signal.Signals]
) -> None:
    machine = Machine(computes, waits, asleep)
    when, reason = machine.ends(Patience(1, 60.0, machine.usage, machine.clock))
    assert (round(when, -1), reason) == ended


def test_a_copy_that_is_kept_ends_with_the_process_that_made_it() -> None:
    def begin() -> int:
        standby = Standby(endlessly)
        standby.ask_ahead(1, 1000.0)
        return standby._pid

    def endlessly(number: int) -> None:
        while True:
            number += 1

    left = ask(begin, LIMIT).value
    deadline = time.monotonic() + LIMIT
    # Who takes over orphans here may take its time with them; one that has ended has no program any more.
    while (status := Path(f"/proc/{left}/cmdline")).exists() and status.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_standby_answers_from_where_it_began_unless_told_to_go_on() -> None:
    seen: list[int] = []

    def work(number: int) -> list[int]:
        seen.append(number)
        return seen

    standby = Standby(work)
    try:
        seen.append(100)
        assert [standby.ask(number, LIMIT).value for number in (1, 2)] == [[1], [2]]
        assert standby.ask(3, LIMIT, lasting=True).value == [3]
        assert standby.ask(4, LIMIT).value == [3, 4]
        assert standby.ask(5, LIMIT).value == [3, 5]
    finally:
        standby.close()
    standby.close()  # once more does nothing
    assert seen == [100]


def test_a_standby_works_ahead_and_answers_what_it_is_asked() -> None:
    standby = Standby(lambda number: number + 1)
    try:
        standby.ask_ahead(1, LIMIT)
        standby.ask_ahead(7, LIMIT)  # one at a time
        assert standby.ask(1, LIMIT).value == 2
        standby.ask_ahead(3, LIMIT)
        assert standby.ask(4, LIMIT).value == 5
        standby.ask_ahead(5, LIMIT)
    finally:
        standby.close()


def test_a_standby_that_is_gone_says_so() -> None:
    standby = Standby(lambda number: os._exit(0))
    assert standby.ask(1, LIMIT, lasting=True).trouble == "the process that was kept for fresh runs is gone"
    assert standby.ask(1, LIMIT).trouble == "the process that was kept for fresh runs is gone"
    standby.close()


def test_a_check_computes_with_one_thread_and_gives_the_others_back() -> None:
    x, before = torch.zeros(4), torch.get_num_threads()
    seen: list[int] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        seen.append(torch.get_num_threads())
        return (lambda mode: x * 2), None

    torch.set_num_threads(2)
    try:
        assert check(create, [BatchDescriptor(Mode.FULL, 4)], inputs=[x]).answer == "clean"
        assert (set(seen), torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


def test_a_check_runs_under_a_profiler_and_leaves_it_at_work() -> None:
    x = torch.zeros(4)
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        report = check(lambda *_: ((lambda mode: x * 2), None), [BatchDescriptor(Mode.FULL, 4)], inputs=[x])
        textwrap.dedent("")
    finally:
        profiler.disable()
    assert report.answer == "clean", str(report)
    profiler.create_stats()
    assert any(name == "dedent" for _, _, name in profiler.stats)


def test_a_check_runs_a_program_as_often_as_it_compares(tmp_path: Path) -> None:
    x, ran = torch.zeros(4), tmp_path / "ran"

    def forward(mode: Mode) -> Any:
        with ran.open("a") as file:
            print(mode.name, file=file)
        return x * 2

    assert check(lambda *_: (forward, None), [BatchDescriptor(Mode.FULL, 4)], inputs=[x]).answer == "clean"
    # A warm-up and a capture here and in the process that captures anew, and three fresh runs.
    assert sorted(ran.read_text().split()) == ["FULL"] * 2 + ["NONE"] * 5


@pytest.mark.parametrize("prepared", [False, True])
def test_no_copy_that_makes_a_run_imports_anything_or_looks_at_all_objects(
    prepared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, notes = torch.zeros(4), tmp_path / "notes"

    def prepare(descriptor: BatchDescriptor, seed: int) -> None:
        x.copy_(torch.rand(4))

    def checked() -> Report:
        batch = BatchDescriptor(Mode.FULL, 4)
        return check(
            lambda *_: (lambda mode: x * 2, None), [batch], inputs=[x], prepare=prepare if prepared else None
        )

    def working(work: Callable[[], Any], file: int) -> None:
        before = set(sys.modules)
        work_of_copy(work, file)
        note(*(sys.modules.keys() - before))

    def looking() -> list[Any]:
        note("all objects")
        return known_objects()

    def note(*words: str) -> None:
        with notes.open("a") as file:
            file.writelines(f"{os.getpid() == here} {word}\n" for word in words)

    assert checked().answer == "clean"
    here, work_of_copy, known_objects = os.getpid(), copies._work, beginning.known_objects
    monkeypatch.setattr(copies, "_work", working)
    monkeypatch.setattr(beginning, "known_objects", looking)
    assert checked().answer == "clean"
    # What `prepare` draws from is also looked for after each capture, there and here.
    wanted = (
        ["False all objects", "True all objects", "True all objects"] if prepared else ["True all objects"]
    )
    assert sorted(notes.read_text().splitlines()) == wanted


# --- where runs begin --------------------------------------------------------------------------------------


def test_memory_of_before_is_found_by_its_place_and_no_other_takes_it() -> None:
    matrix = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    row = matrix[1]
    memory = Beginning()
    later = torch.zeros(3)
    assert memory.holds(key_of(matrix))
    assert not memory.holds(key_of(later))
    assert memory.largest(key_of(row)) is matrix
    view_of(row).on(memory.storage(key_of(row))).fill_(7)
    assert matrix.tolist() == [[0.0, 1.0, 2.0], [7.0, 7.0, 7.0]]
    key = key_of(matrix)
    del matrix, row
    assert memory.storage(key) is None
    assert all(key_of(torch.zeros(2, 3)) != key for _ in range(50))


def test_every_source_of_random_numbers_begins_anew() -> None:
    numpy = pytest.importorskip("numpy")
    holder = {
        "torch": torch.Generator(),
        "python": random.Random(5),
        "numpy": numpy.random.default_rng(5),
        "old": numpy.random.RandomState(5),
    }

    def drawn() -> list[float]:
        return [
            random.random(),
            float(torch.rand(())),
            float(numpy.random.rand()),
            float(torch.rand((), generator=holder["torch"])),
            holder["python"].random(),
            float(holder["numpy"].random()),
            float(holder["old"].rand()),
        ]

    draws = Draws(Beginning().generators)
    draws.reseed(3)
    first = drawn()
    draws.reseed(4)
    assert all(here != there for here, there in zip(first, drawn(), strict=True))
    draws.reseed(3)
    assert drawn() == first


# --- other values ------------------------------------------------------------------------------------------

GUESSES = {WILD: 7, BOLD: 7, TIGHT: 2, MILD: 1}
KINDS = st.sampled_from(
    [
        torch.float32,
        torch.bfloat16,
        torch.float64,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.bool,
        torch.complex64,
    ]
)


@settings(deadline=None, max_examples=60)
@given(
    kind=KINDS,
    numbers=st.lists(st.integers(0, 9), min_size=2, max_size=12),
    boldness=st.integers(WILD, CAREFUL),
)
def test_other_values_are_of_the_same_kind(kind: Any, numbers: list[int], boldness: int) -> None:
    tensor = torch.tensor(numbers).to(kind)
    values = other_values(tensor, boldness, torch.Generator().manual_seed(1))
    counts = not (kind.is_floating_point or kind.is_complex)
    if counts and boldness == CAREFUL:
        assert values is None
        return
    assert (values.shape, values.dtype) == (tensor.shape, tensor.dtype)
    if kind.is_floating_point:
        assert bool(((values > 0).any() | (values < 0).any()) & (values != 0).all())
    if counts and kind is not torch.bool:
        low, high = min(numbers), max(numbers)
        assert low <= int(values.min())
        assert int(values.max()) <= max(high, low + GUESSES[boldness])
        if boldness == BOLD and numbers == sorted(numbers) and low < high:
            assert values.tolist() == sorted(values.tolist())
            assert int(values[-1]) == numbers[-1]
            assert numbers[0] or not int(values[0])
        if boldness == MILD and low < high:
            assert sorted(values.tolist()) == sorted(numbers)


def test_zeros_become_something_else() -> None:
    chance = torch.Generator().manual_seed(11)
    for kind in (torch.float32, torch.int64, torch.bool):
        assert bool(other_values(torch.zeros(64, dtype=kind), BOLD, chance).any())


# --- disagreements -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ([1.0, 2.0], [1.0, 2.0], None),
        ([1.0, 2.0], [1.0, 2.0 + 1e-6], None),
        ([1.0, 2.0], [1.0, 2.1], [False, True]),
        ([1.0, float("nan")], [1.0, float("nan")], None),
        ([1.0, 2.0], [1.0, float("nan")], [False, True]),
        ([float("inf"), 2.0], [float("inf"), 3.0], [False, True]),
    ],
)
def test_rounding_is_no_disagreement(one: Any, other: Any, apart: Any) -> None:
    found = disagreements({"x": torch.tensor(one)}, {"x": torch.tensor(other)})
    assert {name: mask.tolist() for name, mask in found.items()} == ({} if apart is None else {"x": apart})


def test_what_only_one_run_has_or_has_otherwise_disagrees() -> None:
    ones = torch.ones(2)
    assert disagreements({"x": ones}, {}).keys() == {"x"}
    assert disagreements({"x": ones}, {"x": ones.double()}).keys() == {"x"}
    assert disagreements({"x": ones.int()}, {"x": ones.int() * 2})["x"].tolist() == [True, True]
    assert disagreements({"x": ones * 1j}, {"x": ones * 2j})["x"].tolist() == [True, True]
    found = disagreements({"x": torch.tensor([1, 2])}, {"x": torch.tensor([3, 4])})
    assert without(found, {"x": torch.tensor([True, False])})["x"].tolist() == [False, True]
    assert without(found, {"x": torch.tensor([True, True])}) == {}


def test_results_are_copies_by_the_names_of_their_places() -> None:
    tensor = torch.ones(2)
    found = results_of({"a": [tensor, 3], "b": None})
    tensor.fill_(5)
    assert {name: one.tolist() for name, one in found.items()} == {"['a'][0]": [1.0, 1.0]}
    assert results_of(tensor)[""].tolist() == [5.0, 5.0]
    assert results_of(None) == {}


# --- explanations ------------------------------------------------------------------------------------------


def at(line: int) -> Frame:
    return Frame("engine.py", line, "forward")


def test_a_number_that_differs_is_named_with_the_read_before_it() -> None:
    fresh = [Step("aten::item", at(1), host=True), Step("aten::mul", at(2), ("7",), (7.0, 7.0))]
    (leak, _) = explanations("FULL", fresh, [Step("aten::mul", at(2), ("8",), (8.0, 8.0), number=0)], nowhere)
    assert (leak.kind, leak.where, leak.origin) == (LeakKind.CONSTANT, at(2), at(1))
    assert leak.message == "aten::mul was captured with 8; a fresh run of another batch gives it 7"


def test_work_that_the_graph_does_without_is_named_with_the_first_wrong_result() -> None:
    plan, use = Step("aten::cumsum", at(1), (), (3.0, 5.0)), Step("aten::add", at(2), (), (6.0, 9.0))
    (leak,) = explanations("FULL", [plan, use], [Step("aten::add", at(2), (), (1.0, 1.0), number=0)], nowhere)
    assert (leak.kind, leak.where, leak.origin) == (LeakKind.SKIPPED, at(2), at(1))


def test_memory_is_to_blame_where_nothing_else_is() -> None:
    fresh, replayed = (
        Step("aten::add", at(2), (), (6.0, 9.0)),
        Step("aten::add", at(2), (), (1.0, 1.0), number=4),
    )
    asked: list[int] = []

    def writer(number: int) -> tuple[str, Frame]:
        asked.append(number)
        return "what aten::clone wrote", at(9)

    (leak,) = explanations("FULL", [fresh], [replayed], writer)
    assert (asked, leak.kind, leak.where, leak.origin) == ([4], LeakKind.MEMORY, at(2), at(9))
    assert explanations("FULL", [fresh], [fresh], writer) == []


def nowhere(number: int) -> tuple[str, None]:
    return "memory", None


# --- what cannot be compared is said -----------------------------------------------------------------------

BATCH = BatchDescriptor(Mode.FULL, 4)


def test_a_run_that_fails_for_every_other_value_is_said_and_judged_by_what_was_seen() -> None:
    table, index = torch.arange(4.0), torch.zeros(4, dtype=torch.int64)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        if int(index.sum()):
            raise ValueError("only zeros")
        return (lambda mode: table[index] * 2), None

    with pytest.raises(
        AssertionError, match="index was not compared: the forward function uses the same"
    ) as failed:
        assert_replayable(create, [BATCH], inputs=lambda one: {"index": index})
    cause = failed.value.__cause__
    assert isinstance(cause, NotComparedError)
    assert cause.report.answer == "not compared"
    (gap,) = cause.report.not_compared
    assert (gap.what, gap.descriptor) == ("index", "FULL tokens=4")
    assert "prepare=" in gap.remedy
    assert str(cause.report).splitlines()[1:] == str(gap).splitlines()
    again = pickle.loads(pickle.dumps(cause))
    assert (type(again), str(again)) == (NotComparedError, str(cause))
    assert_replayable(
        create, [BATCH], inputs=lambda one: {"index": index}, allow={"ind*": "only zeros are ever given"}
    )


def test_a_fresh_run_that_fails_is_said() -> None:
    x, calls = torch.zeros(4), []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        calls.append(phase)
        if os.getpid() != here:
            raise ValueError("not in another process")
        return (lambda mode: x * 2), None

    here = os.getpid()
    report = check(create, [BATCH], inputs=[x])
    assert [(gap.what, gap.why) for gap in report.not_compared] == [
        ("results", "ValueError: not in another process")
    ]
    assert calls == [Phase.WARMUP, Phase.CAPTURE]


def test_the_program_keeps_its_values_and_its_random_numbers() -> None:
    x = torch.arange(4.0)
    torch.manual_seed(3)
    random.seed(3)
    before = torch.get_rng_state(), random.getstate()
    check(lambda descriptor, phase: ((lambda mode: x * 2), None), [BATCH], inputs=[x])
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
