"""A syntax error in a function that nothing calls is one all the same: Python is the judge."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coldfork
from coldfork.source.files.reading import Reader
from coldfork.source.program.holding import Held
from coldfork.source.program.keeping import OnDisk
from coldfork.source.reach import whole_files
from coldfork.source.reach.whole_files import Told, WholeFiles
from coldfork.source.syntax.syntax_errors import trouble_in
from tests.amounts import examples

LINES = (
    "return 1", "return = 3", "return 3)", "if a == 1", "if a == 1: pass", "for for x in y: pass",
    "x = [1, 2", "<<<<<<< HEAD", "lambda: 1", "def g(): pass", "def g() pass", "yield", "await f()",
    "x = f'{a!r}'", "pass", "print 'x'", "class A: x =", "match x:\n        case 1: pass", "x = 0777",
    "'open", "del x", "nonlocal y",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=3),
    st.sampled_from(["def f(a):", "async def f(a):"]),
)
@settings(max_examples=examples(60), deadline=None)
def test_what_python_does_not_parse_is_told(lines: list[str], head: str) -> None:
    source = "\n".join(["import os", head, *(f"    {line}" for line in lines), "X = 1", ""])
    try:
        compile(source, "file", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        parses = True
    except SyntaxError:
        parses = False
    trouble = trouble_in(source.encode())
    assert (trouble is None) is parses
    if trouble is not None:
        assert 1 <= trouble[1] <= source.count("\n") + 1


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    (tmp_path / "fine.py").write_text("def f():\n    return 1\n")
    (tmp_path / "broken.py").write_text("import os\n\ndef f():\n    x = 1\n    return = 3\n")
    return tmp_path


def test_the_finding_names_the_line_and_fails(broken: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import broken"], cwd=broken, capture_output=True, check=False
    )
    assert b"SyntaxError" in done.stderr
    report = coldfork.check(broken)
    (finding,) = report.findings
    assert (finding.rule, finding.path, finding.line, finding.column) == (
        "unreadable-source",
        "broken.py",
        5,
        11,
    )
    assert finding.text == "return = 3"
    assert report.failing == 1


def test_a_session_sees_it_come_and_go(broken: Path) -> None:
    with coldfork.CheckSession(cache=False) as session:
        assert session.check(broken).failing == 1
        assert session.check(broken, overlays={broken / "broken.py": "def f():\n    return 3\n"}).failing == 0
        assert session.check(broken, overlays={broken / "fine.py": "def f():\n    return (\n"}).failing == 2
        (broken / "broken.py").write_text("def f():\n    return 4\n")
        assert session.check(broken).failing == 0


def test_a_notebook_may_await_in_a_cell(tmp_path: Path) -> None:
    cell = '{"cell_type": "code", "source": "def f():\\n    pass\\nawait g()"}'
    (tmp_path / "a.ipynb").write_text(f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4}}')
    assert coldfork.check(tmp_path / "a.ipynb").failing == 0


def _read(paths: list[str], store: Held, pack: Path) -> Told:
    return WholeFiles(store, pack).read(paths, Reader(), all_of_them=False)


def test_what_is_not_read_at_once_is_counted_and_read_later(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large tree, the file that changed last is read first; the others follow."""
    monkeypatch.setattr(whole_files, "_FIRST", 1)
    monkeypatch.setattr(whole_files, "_MORSEL", 1)
    paths = [str(broken / name) for name in ("broken.py", "fine.py")]
    os.utime(paths[0], ns=(1, 1))
    store, pack = Held(None), Path("files.whole")
    first = _read(paths, store, pack)
    assert (first.troubles, first.left) == ({}, 1)
    second = _read(paths, store, pack)
    assert ([*second.troubles], second.left) == ([paths[0]], 0)
    again = _read(paths, store, pack)
    assert again == second


def test_everything_is_read_where_it_is_wanted(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_files, "_FIRST", 1)
    paths = [str(broken / name) for name in ("broken.py", "fine.py")]
    told = WholeFiles(OnDisk(), None).read(paths, Reader(), all_of_them=True)
    assert ([*told.troubles], told.left) == ([paths[0]], 0)
