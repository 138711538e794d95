"""A script that cannot be started is a clear error, and leaves nothing open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.script.call import run_script
from coldfork.launch.script.result import Outcome
from coldfork.model.errors import UsageError
from tests.launch.scripting import Bench, caller, descriptors, variables

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]
AS_ROOT = os.geteuid() == 0


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path)


def refused(bench: Bench, script: Any, *args: Any, **how: Any) -> str:
    before = descriptors()
    with pytest.raises(UsageError) as caught:
        run_script(script, args, **{"log_dir": bench.runs, **how})
    assert descriptors() == before
    return str(caught.value)


def test_a_missing_script(bench: Bench) -> None:
    assert refused(bench, "gone.py") == f"there is no script 'gone.py' (looked from {bench.folder})"
    assert not bench.runs.exists()


def test_a_script_whose_name_has_a_line_break(bench: Bench) -> None:
    assert refused(bench, "a\nb.py") == f"there is no script 'a\\nb.py' (looked from {bench.folder})"


def test_a_folder_that_is_no_program(bench: Bench) -> None:
    (bench.folder / "empty").mkdir()
    assert refused(bench, "empty") == "'empty' is a folder without a __main__.py"


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_a_script_that_may_not_be_read(bench: Bench) -> None:
    bench.write("pass").chmod(0)
    assert refused(bench, "script.py") == "cannot read the script 'script.py': Permission denied"


def test_a_missing_interpreter(bench: Bench) -> None:
    bench.write("pass")
    assert refused(bench, "script.py", python="python9.9") == "there is no Python interpreter 'python9.9'"
    assert refused(bench, "script.py", python="") == (
        "name a Python interpreter: this process does not know its own"
    )


def test_an_interpreter_that_may_not_be_executed(bench: Bench) -> None:
    bench.write("pass")
    (bench.folder / "python").write_text("no program")
    said = refused(bench, "script.py", python="./python")
    assert said == "cannot start the Python interpreter './python': Permission denied"


def test_an_interpreter_that_is_no_program(bench: Bench) -> None:
    bench.write("pass")
    (bench.folder / "python").write_text("no program")
    (bench.folder / "python").chmod(0o755)
    said = refused(bench, "script.py", python="./python")
    assert said == f"cannot start the Python interpreter '{bench.folder}/python': Exec format error"
    assert json.loads((bench.only_run() / "report.json").read_text())["outcome"] == "not-started"


def test_a_missing_folder_to_run_in(bench: Bench) -> None:
    bench.write("pass")
    assert refused(bench, "script.py", cwd="nowhere") == "cwd: there is no folder 'nowhere'"


def test_a_command_line_that_is_too_long_for_the_system(bench: Bench) -> None:
    bench.write("pass")
    said = refused(bench, "script.py", "x" * 200_000)
    assert said == f"cannot start the Python interpreter '{sys.executable}': Argument list too long"


def test_a_place_for_runs_that_cannot_be(bench: Bench) -> None:
    bench.write("pass")
    (bench.folder / "file").touch()
    said = refused(bench, "script.py", log_dir="file")
    assert said == f"cannot make a run directory in {bench.folder}/file: File exists"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"script": "a\0b"}, "'a\\x00b' holds a null character, which a command line cannot contain"),
        (
            {"args": "--all"},
            "give args as a list of words, not as one text: there is no shell to split it",
        ),
        ({"args": [1]}, "1 cannot be a command-line argument; give a text or a path"),
        ({"script": "-m"}, "-m needs a module as the first argument"),
        ({"script": ""}, "there is no script named ''"),
        ({"timeout": 0}, "timeout=0 would end the script before it begins; None sets no limit"),
        ({"timeout": -1}, "timeout has to be a number of seconds, not -1"),
        ({"timeout": float("nan")}, "timeout has to be a number of seconds, not nan"),
        ({"grace": float("inf")}, "grace has to be a number of seconds, not inf"),
        (
            {"start_method": "fork-server"},
            "there is no start method 'fork-server'; did you mean 'forkserver'?",
        ),
        ({"stdin": 987}, "stdin=987 cannot be read from: give bytes, a text, an open file or its descriptor"),
    ],
)
def test_what_makes_no_sense(bench: Bench, how: dict[str, Any], said: str) -> None:
    bench.write("pass")
    words = {"script": "script.py", "args": (), **how}
    with pytest.raises(UsageError) as caught:
        run_script(log_dir=bench.runs, **words)
    assert str(caught.value) == said


def test_a_run_directory_that_vanishes(bench: Bench) -> None:
    result = bench.run("import shutil, sys; shutil.rmtree(sys.argv[1])", str(bench.runs))
    assert (result.outcome, result.status, result.report["status"]) == (Outcome.SUCCEEDED, 0, 0)
    assert result.notes == (
        "cannot write the report: No such file or directory",
        "cannot read stdout from its file: No such file or directory",
        "cannot read stderr from its file: No such file or directory",
    )


def test_a_caller_without_any_standard_stream_of_its_own(bench: Bench) -> None:
    script = bench.write("import sys; print('in', sys.stdin.read()); print('err', file=sys.stderr)")
    program = caller(
        f"""
        import os, sys
        keep = os.dup(1)
        for stream in range(3):
            os.close(stream)
        from coldfork import run_script
        result = run_script({str(script)!r}, log_dir={str(bench.runs)!r}, stdin=b"given")
        os.write(keep, repr((result.status, result.stdout, result.stderr)).encode())
        """
    )
    done = subprocess.run(program, env=variables(), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "(0, 'in given\\n', 'err\\n')"


def test_a_python_that_does_not_let_coldfork_in_is_told(bench: Bench) -> None:
    (bench.folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -E "$@"\n')
    (bench.folder / "python").chmod(0o755)
    result = bench.run("print('ran')", python="./python")
    assert (result.stdout, result.enforced, result.states) == ("ran\n", False, None)
