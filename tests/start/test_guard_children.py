"""In a child that was poisoned anyway, the framework's error names the parent's waker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.start.guarding import WAKE, needs_compiler, needs_linux, run

pytestmark = [needs_linux, needs_compiler]

ENGINE = WAKE + "wake()\n"

# Stands for a framework without PyTorch: the message is that of CUDA's runtime.
USE = """
import coldfork, concurrent.futures, multiprocessing, os, threading

def use():
    raise RuntimeError("CUDA error: initialization error")

def start():
    context = multiprocessing.get_context("fork")
    coldfork.guard("log")
    import engine
    START
"""
STARTS = {
    "os.fork": "pid = os.fork()\n    if pid == 0:\n        use()\n    os.waitpid(pid, 0)",
    "thread": "pid = os.fork()\n    if pid == 0:\n        threading.Thread(target=use).start()\n"
    "        raise SystemExit\n    os.waitpid(pid, 0)",
    "Process": "context.Process(target=use).start()",
    "Pool": "context.Pool(1).apply(use)",
    "Executor": "concurrent.futures.ProcessPoolExecutor(1, context).submit(use).result()",
}


def failing(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program beside an engine that wakes the device when it is imported."""
    (folder / "engine.py").write_text(ENGINE, encoding="utf-8")
    return run(program + '\nif __name__ == "__main__":\n    start()\n', folder)


def notes(folder: Path, text: str) -> str:
    """Return the notes after the framework's error, the same on every machine."""
    import re

    after = text.partition("RuntimeError: CUDA error: initialization error\n")[2]
    told = "\n".join(line for line in after.splitlines() if line.startswith(("coldfork", "  ")))
    return re.sub(r"process \d+", "process 1000", told.replace(str(folder), "/app"))


@pytest.mark.must_hold
@pytest.mark.parametrize("start", STARTS)
def test_the_error_in_a_poisoned_child_names_the_waker_of_the_parent(start: str, tmp_path: Path) -> None:
    done = failing(tmp_path, USE.replace("START", STARTS[start]))
    note = notes(tmp_path, done.stderr)
    assert "coldfork: this process was forked from process 1000, at /app/program.py:" in note
    assert ", despite this:\n  cuda is awake here" in note
    assert "cuda was woken by engine  /app/engine.py, on MainThread" in note
    assert done.stderr.count("coldfork: this process was forked") in (1, 2)


def test_the_note(tmp_path: Path) -> None:
    done = failing(tmp_path, USE.replace("START", STARTS["Process"]))
    assert notes(tmp_path, done.stderr) == snapshot("""\
coldfork: this process was forked from process 1000, at /app/program.py:11, despite this:
  cuda is awake here (level driver) (woken by engine)
  cuda was woken by engine  /app/engine.py, on MainThread
    1. __main__  /app/program.py:10
    2. engine  /app/engine.py
    to find the line: coldfork probe engine
  = help: start the process with spawn: it begins without any of this
  = help: wake the device only in the processes that use it, after they have been started
  cuda was touched here by /app/program.py:5\
""")


def test_an_error_about_something_else_gets_no_note(tmp_path: Path) -> None:
    program = USE.replace("START", STARTS["Process"]).replace("CUDA error: initialization", "disk")
    done = failing(tmp_path, program)
    assert "RuntimeError: disk error" in done.stderr
    assert "this process was forked" not in done.stderr


def test_an_error_in_a_child_that_is_not_poisoned_gets_no_note(tmp_path: Path) -> None:
    done = failing(tmp_path, USE.replace("import engine", "pass").replace("START", STARTS["Process"]))
    assert "RuntimeError: CUDA error: initialization error" in done.stderr
    assert "this process was forked" not in done.stderr


@pytest.mark.must_hold
def test_pytorchs_own_error_gets_the_note_where_it_is_raised(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "engine.py").write_text(
        "import coldfork.virtual\ncoldfork.virtual.install('h100')\n"
        "import torch\ntorch.cuda.is_available()\n",
        encoding="utf-8",
    )
    program = """
    import coldfork, os
    coldfork.guard("log")
    import engine, torch
    pid = os.fork()
    if pid == 0:
        try:
            torch.cuda.get_device_capability()
        except RuntimeError as error:
            print(str(error))
            print(*error.__notes__, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    """
    done = run(program, tmp_path)
    assert "Cannot re-initialize CUDA in forked subprocess" in done.stdout
    assert "cuda was woken by" in done.stdout
    assert "cuda was touched here by " in done.stdout
