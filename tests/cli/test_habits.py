"""What people type out of habit: other tools' options, a file for a module, `python` before a script."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from coldfork.launch.watch.run import PythonLine, without_python
from coldfork.model.effects import Effect
from coldfork.model.errors import UsageError

Run = Callable[..., Result]


@pytest.fixture
def torch_without_cuda(tmp_path: Path) -> Path:
    """A folder with as much of torch as raises where the driver is wanted."""
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("from torch import cuda\n", encoding="utf-8")
    (package / "cuda.py").write_text(
        "def _lazy_init():\n    raise AssertionError('Torch not compiled with CUDA enabled')\n\n\n"
        "def init():\n    _lazy_init()\n",
        encoding="utf-8",
    )
    return tmp_path


def coldfork(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "coldfork", *arguments],
        cwd=cwd,
        env={**os.environ, "COLDFORK_STATE_DIR": str(cwd / "state"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_other_tools_names_of_options_are_known(
    run: Run, project: Path, engine: Any, effect: Callable[..., Effect]
) -> None:
    engine.sees(effect())
    usual = run("check", "--rules", "device-init-at-import", "--format", "concise", "src")
    other = run("check", "--select", "device-init-at-import", "--output-format", "concise", "src")
    assert usual.stdout.count("device-init-at-import") == 1
    assert other.stdout == usual.stdout
    assert run("rule", "waking-import", "--output-format", "json").stdout.startswith("{")


def test_quiet_leaves_the_findings(
    run: Run, project: Path, engine: Any, effect: Callable[..., Effect]
) -> None:
    assert run("check", "-q", "src").output == ""
    engine.sees(effect())
    whole, quiet = run("check", "src"), run("check", "--quiet", "src")
    assert quiet.exit_code == 1
    assert quiet.stdout.startswith("error[device-init-at-import]")
    assert whole.stdout.startswith(quiet.stdout)
    assert "1 cause" in whole.stdout
    assert "1 cause" not in quiet.stdout


def test_the_next_command_mends_and_then_explains(
    run: Run, project: Path, engine: Any, effect: Callable[..., Effect]
) -> None:
    engine.sees(effect())
    assert "\nnext: coldfork check src --fix  (" in run("check", "src").stdout
    (project / "src" / "engine" / "core.py").write_text("import torch\n" * 9, encoding="utf-8")
    assert "\nnext: coldfork rule device-init-at-import  (" in run("check", "src", "--fix").stdout


def test_no_fix_is_suggested_where_none_is_ever_written(run: Run, project: Path) -> None:
    text = """\
import multiprocessing

import torch


def start(work):
    how = "spawn" if torch.cuda.is_initialized() else "fork"
    multiprocessing.get_context(how).Process(target=work).start()
"""
    (project / "launch.py").write_text(text, encoding="utf-8")
    (project / "nothing").mkdir()
    said = run("check", "--site-packages", "nothing", "launch.py").stdout
    assert said.startswith("error[initialised-flag-as-fork-guard]")
    assert "\nnext: coldfork rule initialised-flag-as-fork-guard  (says what it means" in said


@pytest.mark.parametrize(
    "arguments", [("probe",), ("preload",), ("check", "--entry"), ("run", "-m")], ids=" ".join
)
def test_the_name_of_a_file_is_told_apart_from_a_modules(
    run: Run, project: Path, arguments: tuple[str, ...]
) -> None:
    (project / "src" / "engine" / "__init__.py").touch()
    (project / "serve.py").touch()
    for name, module in (("serve.py", "serve"), ("src/engine/core.py", "engine.core")):
        result = run(*arguments, name)
        assert (result.exit_code, result.stderr) == (
            2,
            f"coldfork: {name} is a file; the module is {module}\n",
        )


def test_the_python_before_a_script_is_the_one_that_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("--", "python3.12", "-X", "dev", "x.py", "-q"), ("python3.12", "-X", "dev", "x.py", "-q")):
        named, line = without_python(PythonLine((), words))
        assert (named, line) == ("python3.12", PythonLine(("-X", "dev"), ("x.py", "-q")))
    others: tuple[tuple[str, ...], ...] = (
        ("x.py", "python"),
        ("-m", "python"),
        ("--", "pythonic.py"),
        ("-c", "python"),
        (),
    )
    for other in others:
        assert without_python(PythonLine((), other)) == (None, PythonLine((), other))
    with pytest.raises(UsageError, match="--version runs no program; give it to python itself"):
        without_python(PythonLine((), ("python", "--version")))
    # A script of that name is a script.
    Path("python").touch()
    assert without_python(PythonLine((), ("python", "x.py")))[0] is None


@pytest.mark.skipif(not sys.platform.startswith(("linux", "darwin")), reason="watches where it can")
def test_a_traceback_of_a_watched_program_shows_only_the_program(torch_without_cuda: Path) -> None:
    (torch_without_cuda / "x.py").write_text("import torch.cuda\ntorch.cuda.init()\n", encoding="utf-8")
    done = coldfork(
        "run",
        "--quiet",
        "--",
        sys.executable,
        "x.py",
        cwd=torch_without_cuda,
        PYTHONPATH=str(torch_without_cuda),
    )
    places = [line.split('"')[1] for line in done.stderr.splitlines() if line.startswith("  File")]
    assert [Path(place).name for place in places] == ["x.py", "cuda.py", "cuda.py"]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("AssertionError: Torch not compiled with CUDA enabled\n")
