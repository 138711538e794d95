"""`./dev mutants`: the changes it makes, the sample it draws, and which of them it calls killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mutants.copies import Copy
from mutants.operators import Mutant, candidates, is_valid
from mutants.recording import Test as Recorded
from mutants.recording import test_files as files_for
from mutants.reports import as_text
from mutants.sampling import sample, shares
from mutants.trials import Outcome, Verdict, affordable, touching
from mutants.workers import Worker

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(os.name != "posix", reason="./dev is a POSIX shell script"),
]

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def changes(source: str) -> list[str]:
    """Return what a file may become, without what stays as it is before and after the change."""
    text = source.encode()
    found = [one for one in candidates("m.py", text) if is_valid(one, text)]
    return [one.applied(text).decode() for one in found]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a < b", ["a <= b"]),
        ("a <= b < c", ["a < b < c", "a <= b <= c"]),
        ("a == b", ["a != b"]),
        ("a in b", ["a not in b"]),
        ("a is not b", ["a is b"]),
        ("a and b or c", ["a or b or c", "a and b and c"]),
        ("not a", ["(a)"]),
        ("a + b", ["a - b"]),
        ("x = True", ["x = False"]),
        ("x = 5", ["x = 6", "x = (4)"]),
        ("x = 'a'", ["x =  'a_' "]),
        ("x = any(y)", ["x = all(y)"]),
        ("x = {'a', 'b'}", ["x = {'b'}", "x = { 'a_' , 'b'}", "x = {'a',  'b_' }"]),
        ("x = a if b else c", ["x = a if True else c", "x = a if False else c"]),
        ("x = [a for a in b if a]", ["x = [a for a in b if True]", "x = [a for a in b if False]"]),
        ("if a:\n    b()", ["if True:\n    b()", "if False:\n    b()", "if a:\n    pass"]),
        ("while a:\n    break", ["while False:\n    break", "while a:\n    continue", "while a:\n    pass"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("a.b = c", ["pass"]),
        ("a += b", ["pass"]),
        ("raise a", ["pass"]),
    ],
)
def test_each_operator_makes_its_change(source: str, wanted: list[str]) -> None:
    made = changes(source)
    assert set(wanted) <= set(made)
    for one in made:
        assert one != source
        compile(one, "changed", "exec")


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "def f(x: int = y) -> 'Name':\n    '''A docstring.'''",
        "__all__ = ['a', 'b']",
        "if TYPE_CHECKING:\n    from a import b",
        "assert a == b",
        "import a",
        "name = other",
        "@decorated(frozen=True)\ndef f(): ...",
    ],
)
def test_what_does_not_run_is_left_alone(source: str) -> None:
    assert changes(source) == []


def test_every_change_of_a_real_file_is_one_edit_of_its_line() -> None:
    path = TOOLS / "mutants" / "sampling.py"
    source = path.read_bytes()
    found = candidates("sampling.py", source)
    assert len(found) > 20
    for one in found:
        assert source[one.start : one.end].decode() == one.before
        assert source.count(b"\n", 0, one.start) + 1 == one.line


def test_a_change_knows_its_function_and_whether_an_import_runs_it() -> None:
    method = b"    def f(self):\n        return (\n            1 + x\n        )\n"
    source = b"LIMIT = 5\n\n\nclass C:\n    most = 3\n\n" + method
    found = {one.before: one for one in candidates("m.py", source)}
    assert (found["5"].owner, found["5"].loaded) == ("", True)
    assert (found["3"].owner, found["3"].loaded) == ("C", True)
    assert (found["1"].owner, found["1"].loaded, found["1"].line, found["1"].statement) == (
        "C.f",
        False,
        9,
        8,
    )


def made(path: str, lines: int) -> list[Mutant]:
    """Two changes on each of some lines."""
    return [
        Mutant(path, line, line, line, "number", str(line), after, "f", line, False)
        for line in range(lines)
        for after in ("a", "b")
    ]


def draw(size: int, seed: int) -> list[Mutant]:
    rooms = {"large": made("large.py", 400), "small": made("small.py", 40)}
    return sample(rooms, size, seed, lambda mutant: mutant.line != 7)


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    assert draw(50, 1) == draw(50, 1)
    assert draw(50, 1) != draw(50, 2)


def test_a_sample_has_something_of_every_room_and_one_change_a_line() -> None:
    drawn = draw(50, 3)
    assert len(drawn) == 50
    assert sum(one.path == "small.py" for one in drawn) == 5
    assert len({(one.path, one.line) for one in drawn}) == 50
    assert all(one.line != 7 for one in drawn)


def test_code_elsewhere_does_not_change_what_is_drawn() -> None:
    rooms = {"large": made("large.py", 400)}
    more = {"large": [*made("large.py", 400), *made("other.py", 40)]}
    drawn, again = (sample(one, 50, 1, lambda _: True) for one in (rooms, more))
    assert [one for one in again if one.path == "large.py"] == drawn[
        : sum(o.path == "large.py" for o in again)
    ]


@pytest.mark.parametrize(
    ("sizes", "total", "wanted"),
    [
        ({"a": 900, "b": 100}, 100, {"a": 90, "b": 10}),
        ({"a": 990, "b": 10}, 100, {"a": 90, "b": 10}),
        ({"a": 3, "b": 2}, 100, {"a": 3, "b": 2}),
        ({"a": 997, "b": 3}, 100, {"a": 97, "b": 3}),
    ],
)
def test_rooms_give_their_share(sizes: dict[str, int], total: int, wanted: dict[str, int]) -> None:
    assert shares(sizes, total) == wanted


def test_the_tests_of_a_line_come_fastest_first_and_as_far_as_the_budget_goes() -> None:
    tests = [
        Recorded("t.py::slow", 3.0, {"m.py": frozenset({1, 2})}),
        Recorded("t.py::quick", 1.0, {"m.py": frozenset({2})}),
        Recorded("t.py::other", 0.5, {"other.py": frozenset({2})}),
    ]
    mutant = Mutant("m.py", 2, 0, 1, "number", "1", "2", "f", 2, False)
    assert [test.id for test in touching(mutant, tests)] == ["t.py::quick", "t.py::slow"]
    assert [test.id for test in affordable(touching(mutant, tests), 2.0)] == ["t.py::quick"]
    first = Mutant("m.py", 1, 0, 1, "number", "1", "2", "f", 1, False)
    assert [test.id for test in touching(first, tests)] == ["t.py::slow"]
    loaded = Mutant("m.py", 9, 0, 1, "number", "1", "2", "", 9, True)
    assert [test.id for test in touching(loaded, tests)] == ["t.py::quick", "t.py::slow"]


def test_the_report_shows_what_survived_and_the_score() -> None:
    mutant = Mutant("src/m.py", 4, 0, 1, "number", "5", "6", "f", 4, False)
    other = Mutant("src/m.py", 9, 0, 1, "condition", "a\n  and b", "True", "", 9, False)
    verdicts = [
        Verdict(mutant, Outcome.SURVIVED, "", 2, 3, 0.1),
        Verdict(other, Outcome.NOT_RUN, "", 0, 0, 0.0),
        Verdict(mutant, Outcome.KILLED, "t.py::test", 1, 3, 0.1),
        Verdict(mutant, Outcome.TIMED_OUT, "t.py::test", 1, 3, 0.1),
    ]
    assert (
        as_text(verdicts, 5)
        == """\
src/m.py:4: survived (number) in f
  - 5
  + 6
  = 2 of the 3 tests that run this line passed; raise --budget for the others

src/m.py:9: not run (condition)
  - a and b
  + True
  = no test that was recorded runs this line

4 of 5 changes tried: 1 killed, 1 timed out, 1 survived, 1 not run
score: 50.0 of 100
"""
    )


# -- a small project ----------------------------------------------------------------------------------------

PROJECT = {
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib']\n",
    "src/coldfork/__init__.py": "",
    "src/coldfork/plugins/__init__.py": "",
    "src/coldfork/plugins/pytest_plugin.py": "",
    "src/coldfork/room/__init__.py": "",
    "src/coldfork/room/thing.py": """\
def tested(number):
    return number + 1


def untested_result(number):
    return number * 2


def never_called(number):
    return number - 3
""",
    "tests/room/test_thing.py": """\
import subprocess, sys

from coldfork.room.thing import tested, untested_result


def test_one():
    program = "from coldfork.room.thing import tested; print(tested(1))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True)
    assert done.stdout == "2\\n"
    untested_result(2)


def test_that_hangs():
    if sys.argv[0] == "never":
        tested(2)
""",
    "tests/room/test_hanging.py": """\
import threading


def test_before():
    pass


def test_hanging():
    threading.Event().wait()


def test_after():
    pass
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a module, one of whose functions is tested."""
    root = tmp_path / "project"
    for name, text in PROJECT.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def mutants(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a project."""
    return subprocess.run(
        [sys.executable, "-m", "mutants", *arguments, "--root", str(project), "--jobs", "2"],
        cwd=TOOLS,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_planted_survivor_is_found_and_the_others_are_killed(project: Path) -> None:
    arguments = ("room", "--all", "--tests", "tests/room/test_thing.py", "--format", "json")
    done = mutants(project, *arguments)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    by_owner: dict[str, set[str]] = {}
    for one in said["mutants"]:
        by_owner.setdefault(one["mutant"]["owner"], set()).add(one["outcome"])
    assert by_owner == {"tested": {"killed"}, "untested_result": {"survived"}, "never_called": {"not run"}}
    assert "0 of them known" in done.stderr

    # The project itself is as it was, and nothing is run twice.
    assert (project / "src/coldfork/room/thing.py").read_text(encoding="utf-8") == PROJECT[
        "src/coldfork/room/thing.py"
    ]
    again = mutants(project, *arguments, "--at-least", "90")
    assert again.stdout == done.stdout
    assert f"{said['asked']} of them known" in again.stderr
    assert again.returncode == 1


def test_a_room_that_does_not_exist_is_refused_by_name(project: Path) -> None:
    done = mutants(project, "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


@pytest.fixture
def worker(project: Path, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(Copy(project, tmp_path / "copy"))
    yield worker
    worker.close()


def test_a_test_that_hangs_is_given_up_and_the_worker_goes_on(worker: Worker) -> None:
    file = "tests/room/test_hanging.py"
    ended = list(worker.run([file], limits={f"{file}::test_hanging": 0.2}))
    assert [(one.test.partition("::")[2], one.outcome) for one in ended] == [
        ("test_before", "passed"),
        ("test_hanging", "timeout"),
    ]
    after = list(worker.run([file], [f"{file}::test_after"]))
    assert [(one.test, one.outcome) for one in after] == [(f"{file}::test_after", "passed")]


def test_files_of_tests_are_those_that_import_a_room_through_others_too(tmp_path: Path) -> None:
    texts = {
        "tests/room/test_own.py": "",
        "tests/other/helping.py": "from coldfork.room.thing import tested\n",
        "tests/other/test_through.py": "from tests.other.helping import tested\n",
        "tests/other/test_not.py": "from coldfork.roomy import other\n",
        "tests/third/conftest.py": "import coldfork.room\n",
        "tests/third/test_by_fixture.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert files_for(tmp_path, ["room"]) == [
        "tests/other/test_through.py",
        "tests/room/test_own.py",
        "tests/third/test_by_fixture.py",
    ]
