"""`check --trace` tells what is believed at a line, and why nothing is where nothing comes to it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coldfork.cli.main import cli
from coldfork.source.evaluation.expressions import dispatch as expressions
from coldfork.source.reach.results import Results
from coldfork.source.syntax import nodes
from coldfork.source.tracing import TracingEvaluator, Watch
from tests.checking.test_isolation import PROGRAM, check

ENGINE = """\
import os
import torch
import missing

def pick(index):
    if os.environ.get("ENGINE_CPU") == "1":
        return "cpu"
    return f"cuda:{index}"

def never(value):
    if value:
        return torch.zeros(1)

X = torch.zeros(2, device=pick(0))
LIMITS = {"a": 1}
print(LIMITS)
if False:
    torch.cuda.init()
for item in [1, 2]:
    item + 1
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    file = tmp_path / "engine.py"
    file.write_text(ENGINE)
    return file


def run(place: str, *paths: str) -> Result:
    return CliRunner().invoke(
        cli,
        ["check", "--no-cache", "--site-packages", "nothing", "--trace", place, *(paths or ("engine.py",))],
    )


def told(place: str, *paths: str) -> str:
    result = run(place, *paths)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.mark.usefixtures("engine")
def test_what_expressions_are_taken_for() -> None:
    text = told("engine.py:14")
    assert "engine.py:14 X = torch.zeros(2, device=pick(0))" in text
    assert "pick(0) is 'cuda:0' or 'cpu' (when the environment variable ENGINE_CPU is set)" in text
    assert "torch.zeros creates a CUDA context, certain" in text


@pytest.mark.usefixtures("engine")
def test_what_has_to_hold_for_a_line_to_run() -> None:
    text = told("engine.py:7")
    assert "in pick, while engine is imported" in text
    assert "it runs only when the environment variable ENGINE_CPU is set" in text
    assert "nothing here is certain" in text
    assert text.endswith("then it returns")
    assert "presuming that ENGINE_CPU is unset" in told("engine.py:8")


@pytest.mark.usefixtures("engine")
def test_a_line_that_nothing_comes_to_is_told_by_the_statement_around_it() -> None:
    text = told("engine.py:18")
    assert "nothing reached line 18; the innermost statement around it" in text
    assert "engine.py:17 if False:" in text


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("line", [11, 12])
def test_a_function_that_nothing_calls_is_named(line: int) -> None:
    text = told(f"engine.py:{line}")
    nothing = f"1 module was followed, and nothing reached engine.py:{line}"
    assert text == f"{nothing}: no code that an import runs calls never"


@pytest.mark.usefixtures("engine")
def test_what_an_import_comes_to() -> None:
    assert "it imports missing, which was not found" in told("engine.py:3")
    assert "it imports os" in told("engine.py:1")


@pytest.mark.usefixtures("engine")
def test_a_name_that_is_only_bound_is_told_where_it_is_asked_for() -> None:
    assert "a name that it binds is looked up its value is a dict of ['a': 1]" in told("engine.py:15")


@pytest.mark.usefixtures("engine")
def test_rounds_of_a_loop_are_told_together() -> None:
    text = told("engine.py:20")
    assert "item is 1" in text
    assert "item is 2" in text


@pytest.mark.usefixtures("engine")
def test_a_line_of_a_dependency(engine: Path) -> None:
    Path("nothing/library.py").write_text("def half(n):\n    return n / 2\n")
    engine.write_text("from library import half\nhalf(3)\nhalf(5)\n")
    text = told("nothing/library.py:2")
    assert "in half, while engine is imported n is 3" in text
    assert "n / 2 is 2.5" in text


def test_a_line_of_a_notebook_is_named_by_its_cell(engine: Path) -> None:
    cells = [{"cell_type": "code", "source": source} for source in ("A = 1\nB = 2", "C = 3\nprint(A + C)")]
    notebook = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    engine.with_suffix(".ipynb").write_text(json.dumps(notebook))
    assert "A + C is 4" in told("engine.ipynb:cell 2:2", "engine.ipynb")
    assert "no such line in that cell" in run("engine.ipynb:cell 2:9", "engine.ipynb").stderr


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("engine.py", "write FILE:LINE"),
        ("engine.py:0", "the file has 21 lines"),
        ("engine.py:99", "the file has 21 lines"),
        ("other.py:1", "there is no file other.py"),
        ("beside.py:1", "not among the 1 modules"),
    ],
)
def test_a_place_that_cannot_be_told_of_is_refused(place: str, why: str) -> None:
    Path("beside.py").write_text("A = 1\n")
    result = run(place)
    assert result.exit_code == 2
    assert why in result.stderr
    assert result.stdout == ""


def test_where_following_ended_is_told(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("nobody thought of it")

    monkeypatch.setitem(expressions.EVALUATE, nodes.BINARY, fail)
    text = told("engine.py:20")
    assert "following engine ended at engine.py:20: coldfork itself failed: LookupError" in text


@pytest.mark.usefixtures("engine")
def test_other_formats_are_refused() -> None:
    result = CliRunner().invoke(cli, ["check", "--trace", "engine.py:1", "--format", "json", "engine.py"])
    assert result.exit_code == 2
    assert "--trace prints text only" in result.stderr


def test_watching_every_line_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in PROGRAM.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    expected = check(tmp_path)
    for name in PROGRAM:
        watch = Watch(str(tmp_path / name), frozenset(range(1, 100)), lambda _: "")
        made = partial(TracingEvaluator, watch=watch)
        with monkeypatch.context() as patch:
            patch.setattr(Results.__init__, "__defaults__", (made, False))
            assert check(tmp_path).causes == expected.causes
        assert watch.seen or name.endswith(("toml", "__init__.py"))
