"""The parts shared by the formats: durations, tables, wakers of a device, JSON."""

from __future__ import annotations

import json

import pytest

from coldfork.model.states import Frame, ImportSite, Waker
from coldfork.report.shared.characters import Alphabet
from coldfork.report.shared.effects import calls_to_device, import_rows, inside
from coldfork.report.shared.json_text import dump
from coldfork.report.shared.quantities import approximately, duration
from coldfork.report.shared.sheets import column, row, table

LETTERS = Alphabet("utf-8", "...")


def woken(call: str | None, *functions: str) -> Waker:
    """A device woken by these calls, one a line."""
    stack = tuple(Frame("a.py", line, function) for line, function in enumerate(functions, 1))
    return Waker("a", "a.py", 1, "<module>", call, "MainThread", (ImportSite("a", "a.py", 1),), stack)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.0004, "0.4 ms"),
        (0.0123, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (1.234, "1.23 s"),
        (99.96, "1 min 40 s"),
        (303, "5 min 03 s"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "5 s"),
        (7.4, "5 s"),
        (7.6, "10 s"),
        (89.0, "90 s"),
        (91.0, "2 min"),
        (151.0, "3 min"),
        (5399.0, "90 min"),
        (5401.0, "2 h"),
        (36000.0, "10 h"),
    ],
)
def test_guessed_durations(seconds: float, said: str) -> None:
    assert approximately(seconds) == said


def test_what_the_known_call_does_inside_is_left_out() -> None:
    waker = woken("torch.cuda.synchronize", "<module>", "warm_up", "synchronize", "_lazy_init")
    assert [frame.function for frame in calls_to_device(waker)] == ["warm_up"]


def test_a_method_of_ones_own_is_no_call_of_the_library() -> None:
    waker = woken("torch.cuda.synchronize", "<module>", "Engine.synchronize", "synchronize", "_lazy_init")
    assert [frame.function for frame in calls_to_device(waker)] == ["Engine.synchronize"]


def test_without_a_known_call_every_call_counts() -> None:
    assert [frame.function for frame in calls_to_device(woken(None, "<module>", "a", "b"))] == ["a", "b"]


def test_one_import_is_no_chain() -> None:
    assert import_rows(woken(None), lambda path, line: f"{path}:{line}") == []


def test_a_module_is_nothing_to_stand_inside_of() -> None:
    assert [inside(name) for name in (None, "<module>", "Engine")] == ["", "", "Engine"]


def test_a_name_too_long_for_its_column_keeps_its_distance() -> None:
    long = "engine." + "x" * 60
    width = column(["engine", long])
    assert width == 30
    assert row(2, "engine", width, "a.py:1") == "   2. engine" + " " * 24 + "a.py:1"
    assert row(None, long, width, "a.py:1") == f"      {long}   a.py:1"


def test_the_last_row_of_a_numbered_table_may_stick_out() -> None:
    rows = [("a", "a.py:1"), ("torch.cuda.get_device_capability", "asks about CUDA devices")]
    assert list(table(rows, LETTERS, numbered=True)) == [
        "   1. a                             a.py:1",
        "   2. torch.cuda.get_device_capability   asks about CUDA devices",
    ]


def test_the_middle_of_a_long_table_is_left_out() -> None:
    rows = [(f"f{number}", "") for number in range(1, 27)]
    lines = list(table(rows, LETTERS, numbered=True, elsewhere="; see there"))
    assert lines[11:14] == ["  12. f12", "      ... 2 lines left out; see there", "  15. f15"]
    assert len(list(table(rows[:24], LETTERS, numbered=False))) == 24


def test_json_has_an_item_a_line() -> None:
    document = {"name": "\udcff", "none": [], "items": [{"a": 1}, {"a": 2}], "words": ["x", "y"]}
    text = dump(document)
    assert json.loads(text) == document
    assert text.splitlines() == [
        "{",
        '  "name": "\\udcff",',
        '  "none": [],',
        '  "items": [',
        '    {"a": 1},',
        '    {"a": 2}',
        "  ],",
        '  "words": [',
        '    "x",',
        '    "y"',
        "  ]",
        "}",
    ]
