"""A pool of two workers for one test, after which nothing may be left; and programs that are scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("the worker pool needs Linux", allow_module_level=True)

import coldfork
from tests.launch.pool.faults import leftovers
from tests.launch.sidebyside import variables

ROOT = Path(__file__).resolve().parents[4]
PATH = {"PYTHONPATH": str(ROOT)}

Script = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = leftovers.held()
    yield
    leftovers.require_nothing_since(before)


@pytest.fixture
def make(_nothing_left: None) -> Iterator[Callable[..., Any]]:
    """Make pools that are shut down in the end."""
    made: list[Any] = []

    def make(workers: int = 2, **options: Any) -> Any:
        made.append(coldfork.WorkerPool(workers, **options))
        return made[-1]

    yield make
    for each in made:
        each.shutdown(wait=True, cancel_futures=True)


@pytest.fixture
def pool(make: Callable[..., Any]) -> Any:
    """A pool of two workers."""
    return make()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """Start a program from a file; what is left of its session is killed in the end."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str, *arguments: str, before: tuple[str, ...] = (), **how: Any) -> subprocess.Popen[str]:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        command = [*before, sys.executable, str(file), *arguments]
        program: subprocess.Popen[str] = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=variables(PATH),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **how,
        )
        started.append(program)
        return program

    yield start
    for program in started:
        # Its forks have its pipes, and would keep the end of its output from coming.
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
