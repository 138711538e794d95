"""Which line runs first is asked of CPython: what is said must be what a run does."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from coldfork.launch.probe.comparison import runs_before

#: `1` and `2` stand on the lines asked about; the bool says whether the text decides that `1` is first.
PROGRAMS = (
    ("note(1)\nnote(2)", True),
    ("class A:\n    note(1)\n    note(2)", True),
    ("class A:\n    class B:\n        note(1)\n    note(2)", True),
    ("if True:\n    note(1)\n    note(2)", True),
    ("if False:\n    pass\nelse:\n    note(1)\n    note(2)", True),
    ("try:\n    note(1)\n    note(2)\nfinally:\n    pass", True),
    ("try:\n    pass\nfinally:\n    note(1)\n    note(2)", True),
    ("try:\n    raise ValueError\nexcept ValueError:\n    note(1)\n    note(2)", True),
    ("with manager:\n    note(1)\n    note(2)", True),
    ("match 1:\n    case 1:\n        note(1)\n        note(2)", True),
    ("if True:\n    note(1)\nnote(2)", True),
    ("for turn in (0, 1):\n    if turn == 0: note(1)\n    if turn == 1: note(2)", False),
    ("try:\n    note(1)\n    raise ValueError\nexcept ValueError:\n    note(2)", False),
    ("f(\n    note(1),\n    note(2),\n)", False),
    ("@later\ndef f(\n    x=note(1),\n): pass\nnote(2)", True),
    ("@note_when_called(2)\nclass A:\n    note(1)", False),
)
BACKWARDS = (
    "@note_when_called(1)\nclass A:\n    note(2)",
    "for turn in (0, 1):\n    if turn == 1: note(1)\n    if turn == 0: note(2)",
    "while turns:\n    if turns.pop() == 1: note(1)\n    else: note(2)",
    "f(note_when_called(1)(\n    note(2)))",
)


def run(source: str) -> list[int]:
    """The numbers in the order in which CPython comes to them."""
    noted: list[int] = []

    class Manager:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    def when_called(number: int) -> object:
        def called(value: object) -> object:
            noted.append(number)
            return value

        return called

    exec(
        compile(source, "<program>", "exec"),
        {
            "note": noted.append,
            "note_when_called": when_called,
            "later": lambda value: value,
            "manager": Manager(),
            "f": lambda *_: None,
            "turns": [1, 2],
            "__name__": "program",
        },
    )
    return noted


def line_of(source: str, number: int) -> int:
    found = [at for at, line in enumerate(source.splitlines(), 1) if f"({number})" in line]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("source", "decided"), PROGRAMS)
def test_what_is_said_to_come_first_does(tmp_path: Path, source: str, decided: bool) -> None:
    file = tmp_path / "program.py"
    file.write_text(source, encoding="utf-8")
    first, second = line_of(source, 1), line_of(source, 2)
    if decided:
        assert run(source) == [1, 2]
    assert runs_before(str(file), first, second) == decided
    assert not runs_before(str(file), second, first)


@pytest.mark.parametrize("source", BACKWARDS)
def test_what_runs_against_the_order_of_its_lines_is_not_decided(tmp_path: Path, source: str) -> None:
    assert run(source) == [2, 1]
    file = tmp_path / "program.py"
    file.write_text(source, encoding="utf-8")
    assert not runs_before(str(file), line_of(source, 1), line_of(source, 2))


@pytest.mark.parametrize("content", ["x = (", "", "x = 1"])
def test_nothing_is_said_of_lines_that_hold_no_statement(tmp_path: Path, content: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(content), encoding="utf-8")
    assert not runs_before(str(file), 1, 9)
    assert not runs_before(str(tmp_path / "nowhere.py"), 1, 9)
