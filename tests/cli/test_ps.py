"""`coldfork ps`: what it asks, what it refuses, and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import coldfork.launch.outside.census
from coldfork.model.running import Census, RunningPython, StartedBy
from coldfork.model.states import State, Status

Run = Callable[..., Result]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")


def census_of(status: Status, accelerator: str = "cuda") -> Census:
    state = State(accelerator, status, reason="as the test says")
    return Census(1.0, (RunningPython(7, None, 0, None, ("python",), 1.0, StartedBy.FORK, states=(state,)),))


@linux
@pytest.mark.parametrize(
    ("status", "accelerator", "code"),
    [
        (Status.POISONED, "cuda", 1),
        (Status.POISONED, "openmp", 0),
        (Status.AWAKE, "cuda", 0),
        (Status.UNKNOWN, "cuda", 0),
    ],
)
def test_the_exit_status_tells_of_poisoned_accelerators(
    status: Status, accelerator: str, code: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = census_of(status, accelerator)
    monkeypatch.setattr(coldfork.launch.outside.census, "census", lambda *_, **__: found)
    assert run("ps").exit_code == code


@linux
def test_it_shows_a_tree_and_not_itself(run: Run) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        result = run("ps", str(child.pid), "--format", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert [one["pid"] for one in json.loads(result.stdout)["processes"]] == [child.pid]
        everything = json.loads(run("ps", "--format", "json").stdout)["processes"]
        assert child.pid in {one["pid"] for one in everything}
        assert os.getpid() not in {one["pid"] for one in everything}
    finally:
        child.communicate(b"\n")


@linux
def test_a_process_that_is_not_there_is_refused(run: Run) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    result = run("ps", str(ended.pid))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"coldfork: there is no process {ended.pid}\n"


def test_elsewhere_it_refuses_in_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    result = run("ps")
    assert result.exit_code == 2
    assert result.stderr == "coldfork: coldfork ps needs Linux, because it reads /proc; this is darwin\n"


@linux
def test_watching_ends_with_the_processes(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    command = [sys.executable, "-m", "coldfork", "ps", str(child.pid), "--watch", "--interval", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        looks = 0
        for line in watching.stdout:
            looks += line.startswith("PID")
            if looks == 3:
                child.communicate(b"\n")
                break
        rest, said = watching.communicate()
    assert watching.returncode == 0
    assert said == "coldfork: the processes have ended\n"
    assert "\x1b[" not in rest


@linux
def test_watching_ends_at_ctrl_c() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    command = [sys.executable, "-m", "coldfork", "ps", str(child.pid), "--watch"]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
            assert watching.stdout is not None
            while b"1 Python process" not in watching.stdout.readline():
                pass
            watching.send_signal(signal.SIGINT)
            _, said = watching.communicate()
        assert (watching.returncode, said.strip()) == (0, b"")
    finally:
        child.communicate(b"\n")
