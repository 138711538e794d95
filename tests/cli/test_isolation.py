"""How `coldfork exec` reads its command line and starts a script without loading click."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from coldfork.cli import isolation
from coldfork.cli.commands.exec import exec_

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux")


def as_click_reads(words: list[str]) -> dict[str, Any]:
    """The options that were given, by their names."""
    context = exec_.make_context("exec", list(words))
    given = {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    return {**given, "args": context.params["args"]}


@pytest.mark.parametrize(
    "words",
    [
        ["script.py"],
        ["script.py", "--timeout", "5", "--", "-x"],
        ["--", "script.py", "--help"],
        ["--", "-m", "engine.post", "-x"],
        ["-"],
        ["--timeout", "5", "--max-memory=2GiB", "--max-cpu", "1.5", "s"],
        ["--devices", "-1", "--grace", "2", "--start-method", "fork", "s"],
        ["--env", "A=1", "--env=B", "--env", "C=", "--env", "A=2=3", "s"],
        ["--no-inherit-env", "--no-report", "--quiet", "s"],
        ["--no-report", "--report", "--inherit-env", "s"],
        ["--warm", "torch, numpy,", "--python", "python3", "--retries", "2", "s"],
        ["--keep-runs", "all", "s", "a"],
        ["--keep-runs", "7", "--log-dir", "runs", "--max-device-memory", "1G", "s"],
        ["--devices", "--", "s"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_what_click_would_have_read(words: list[str]) -> None:
    read, by_click = isolation.read(words), as_click_reads(words)
    assert read is not None
    by_click["log_dir"] = os.fspath(by_click["log_dir"]) if "log_dir" in by_click else None
    assert {"log_dir": None, **read} == by_click


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--"],
        ["--help"],
        ["-h"],
        ["--debug", "s"],
        ["--no-such", "s"],
        ["--time", "5", "s"],
        ["-m", "engine"],
        ["--quiet=1", "s"],
        ["--timeout"],
        ["--timeout", "soon", "s"],
        ["--timeout", "0", "s"],
        ["--timeout", "inf", "s"],
        ["--max-cpu", "-1", "s"],
        ["--retries", "-1", "s"],
        ["--keep-runs", "0", "s"],
        ["--env", "=1", "s"],
        ["--log-dir", __file__, "s"],
    ],
    ids=" ".join,
)
def test_everything_else_is_left_to_click(words: list[str]) -> None:
    assert isolation.read(words) is None


def test_a_shell_that_completes_asks_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_COLDFORK_COMPLETE", "bash_complete")
    assert isolation.read(["script.py"]) is None


def test_the_options_are_those_of_click() -> None:
    opts = {
        option
        for parameter in exec_.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert isolation.VALUES.keys() | isolation.SWITCHES.keys() == opts - {"--debug"}


def run(folder: Path, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-m", "coldfork", "exec", "--log-dir", "runs", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


@on_linux
def test_a_script_waits_for_little(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("", encoding="utf-8")
    done = run(tmp_path, "script.py", options=("-X", "importtime"))
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "coldfork.launch.script.foreground" in loaded
    spared = {"click", "dataclasses", "inspect", "typing", "logging", "shutil", "socket", "asyncio", "rich"}
    assert loaded & spared == set()


@on_linux
def test_its_supervisor_is_no_third_interpreter(tmp_path: Path) -> None:
    text = "import os; print(open(f'/proc/{os.getppid()}/cmdline').read().split(chr(0)))"
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    done = run(tmp_path, "script.py")
    # It was forked from the command, and carries its command line.
    assert "'coldfork', 'exec'" in done.stdout
    assert "supervisor.main" not in done.stdout


@on_linux
def test_the_supervisor_holds_nothing_of_the_command_open(tmp_path: Path) -> None:
    text = (
        "import os\n"
        "held = f'/proc/{os.getppid()}/fd'\n"
        "print([os.readlink(f'{held}/{number}').split(':')[0] for number in os.listdir(held)])\n"
    )
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    # The one to the command, of which the command alone has the other end.
    assert run(tmp_path, "script.py").stdout.count("'socket'") == 1
