"""`check` on modules that take too long to follow: the words in each format, and the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

pytestmark = pytest.mark.once

Run = Callable[..., Result]
Write = Callable[[dict[str, str]], None]

_LONG = "def one(number):\n    return number\n\n" + "".join(f"V{n} = one({n})\n" for n in range(4_000))


@pytest.fixture
def engine(write: Write) -> None:
    """A package with a module that takes too long, and one that does not."""
    write({"engine/__init__.py": "", "engine/long.py": _LONG, "engine/short.py": "VALUE = 1\n"})


@pytest.mark.parametrize(
    ("bar", "status"), [("certain", 0), ("conditional", 0), ("possible", 0), ("unknown", 1)]
)
def test_only_the_bar_unknown_fails_for_it(engine: None, run: Run, bar: str, status: int) -> None:
    assert run("check", "--fail-on", bar).exit_code == status
    assert run("check", "--fail-on", bar, "--exit-zero").exit_code == 0


def test_what_could_not_be_read_is_unknown_as_well(write: Write, run: Run) -> None:
    write({"engine/__init__.py": "", "engine/broken.py": "def one(:\n"})
    assert run("check", "--fail-on", "unknown").exit_code == 1


def test_it_is_a_line_of_the_text(engine: None, run: Run) -> None:
    said = " ".join(run("check").stdout.split())
    assert said.startswith("engine.long takes too long to follow to its end")
    assert "the budget ended at engine/long.py:" in said


def test_each_of_the_checked_modules_is_named(engine: None, write: Write, run: Run) -> None:
    write({"engine/longer.py": _LONG})
    lines = [each for each in run("check").stdout.splitlines() if "too long" in each]
    assert [line.partition(" ")[0] for line in lines] == ["engine.long", "engine.longer"]


def test_those_of_dependencies_are_counted_in_one_line(write: Write, run: Run) -> None:
    write({f"beside/{name}.py": _LONG for name in ("slow", "slower")})
    write({"engine/__init__.py": "import slow\nimport slower\n"})
    result = run("check", "--site-packages", "beside", "engine")
    (told,) = [line for line in result.stdout.splitlines() if "too long" in line]
    assert told == "2 modules of dependencies take too long to follow to the end; --format json lists them"
    unfinished = json.loads(run("check", "--site-packages", "beside", "--format", "json", "engine").stdout)[
        "unfinished"
    ]
    assert [(one["module"], one["own"]) for one in unfinished] == [("slow", False), ("slower", False)]


def test_json_and_sarif_name_the_place(engine: None, run: Run) -> None:
    (one,) = json.loads(run("check", "--format", "json").stdout)["unfinished"]
    assert (one["module"], one["path"], one["what"]) == ("engine.long", "engine/long.py", "budget")
    sarif = json.loads(run("check", "--format", "sarif").stdout)
    told = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    (place,) = [each["locations"][0] for each in told if "engine.long" in each["message"]["text"]]
    assert place["physicalLocation"]["region"]["startLine"] == one["line"]


def test_a_remembered_answer_names_it_again(engine: None, run: Run) -> None:
    first, second = (json.loads(run("check", "--format", "json").stdout)["unfinished"] for _ in range(2))
    assert first == second
    assert len(first) == 1
