"""Questions to interpreters: an answer within the time, and nobody left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coldfork.launch.plumbing.ask import apart, ask


def test_what_a_command_answers() -> None:
    code = "import os, sys; print(os.environ['A']); sys.exit('no')"
    done = ask([sys.executable, "-c", code], 60, {"A": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (1, b"1\n", b"no\n")
    assert ask([sys.executable, "-c", "input()"], 60).returncode == 1, "nothing stands on its input"


@pytest.mark.skipif(sys.platform == "win32", reason="a process is asked for by its number")
def test_a_command_that_does_not_answer_in_time_is_gone(tmp_path: Path) -> None:
    written = tmp_path / "pid"
    with pytest.raises(subprocess.TimeoutExpired):
        ask(["/bin/sh", "-c", f"echo $$ >{written}; exec sleep 600"], 2)
    with pytest.raises(ProcessLookupError):
        os.kill(int(written.read_text()), 0)


def test_a_command_that_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError):
        ask(["/nowhere/python"], 60)


def test_work_apart_gives_its_result_or_raises() -> None:
    assert apart(lambda stop: (stop(), 7)) == (False, 7)

    def fails(_stop: Callable[[], bool]) -> None:
        raise TimeoutError("of the work itself")

    with pytest.raises(TimeoutError, match="of the work itself"):
        apart(fails)
