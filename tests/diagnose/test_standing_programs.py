"""Programs that fail, hang or start processes for ever: `explain --` answers each, and in time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="stacks are asked for on Linux"),
]
SOURCES = Path(__file__).resolve().parents[2] / "src"
PATIENCE = 240.0
"""Seconds that a loaded machine may take for anything."""

LOCK = """\
import multiprocessing, threading, time
lock = threading.Lock()
held = threading.Event()
def hold():
    with lock:
        held.set()
        time.sleep(10000)
def work():
    with lock:  # HERE
        print("never")
if __name__ == "__main__":
    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
"""
OPENMP = """\
import multiprocessing, torch
torch.set_num_threads(4)
def work():
    torch.ones(500, 500) @ torch.ones(500, 500)  # HERE
if __name__ == "__main__":
    torch.ones(500, 500) @ torch.ones(500, 500)
    torch.ones(2000, 2000).sum()
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
"""
RESPAWNING = """\
import multiprocessing
def work(number):
    return number
pool = multiprocessing.get_context("spawn").Pool(2)  # HERE
pool.map(work, range(3))
"""
FED = """\
import multiprocessing
def work(queue):
    queue.get()
if __name__ == "__main__":
    queue = multiprocessing.get_context("fork").Queue()
    child = multiprocessing.get_context("fork").Process(target=work, args=(queue,))
    child.start()
    queue.put(lambda: 1)
    child.join()
"""
UNPICKLABLE = """\
import multiprocessing
if __name__ == "__main__":
    multiprocessing.get_context("spawn").Process(target=lambda: 1).start()  # HERE
"""
DAEMONIC = """\
import multiprocessing
def work(number):
    multiprocessing.get_context("fork").Process(target=print).start()  # HERE
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(work, [1])
"""
PRELOADING = """\
import multiprocessing
if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ends"])
    context.Process(target=print).start()  # HERE
"""
SET_AGAIN = """\
import multiprocessing
multiprocessing.set_start_method("spawn")  # HERE
child = multiprocessing.Process(target=print)
if __name__ == "__main__":
    child.start()
    child.join()
"""
ORDINARY = """\
import threading
threading.Event().wait()  # HERE
"""


def begun(folder: Path, program: str, *options: str) -> subprocess.Popen[str]:
    """Coldfork, running this program."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    (folder / "ends.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "XDG_STATE_HOME": str(folder / "state")}
    line = [sys.executable, "-m", "coldfork", "explain", *options, "--", sys.executable, "program.py"]
    return subprocess.Popen(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def line_of(program: str) -> int:
    """The line of a program that is to be named."""
    return program.splitlines().index(next(line for line in program.splitlines() if "# HERE" in line)) + 1


def answered(said: str) -> str:
    """Return what coldfork said after the program's own output."""
    return said.rpartition("coldfork: what it printed, explained")[2]


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("program", "story", "limit"),
    [
        (LOCK, "hang", "4"),
        (RESPAWNING, "no-main-guard", "20"),
        (FED, "unpicklable-target", "4"),
        (UNPICKLABLE, "unpicklable-target", None),
        (DAEMONIC, "daemonic", None),
        (PRELOADING, "forkserver-eof", None),
        (SET_AGAIN, "no-main-guard", None),
    ],
    ids=["lock", "respawning", "fed", "unpicklable", "daemonic", "preloading", "set-again"],
)
def test_a_real_program_is_answered(program: str, story: str, limit: str | None, tmp_path: Path) -> None:
    options = () if limit is None else ("--timeout", limit)
    said = answered(begun(tmp_path, program, *options).communicate(timeout=PATIENCE)[0])
    assert f"[{story}]" in said
    assert "# HERE" not in program or f"program.py:{line_of(program)}" in said
    assert limit is None or f"it had not ended after {limit} s (--timeout)" in said


def test_a_pool_of_threads_that_is_gone_is_named_with_the_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    said = begun(tmp_path, OPENMP, "--timeout", "25").communicate(timeout=PATIENCE)[0]
    if "it had not ended after" in said:
        assert "[hang]" in said
        assert f"program.py:{line_of(OPENMP)}" in answered(said)
    else:
        pytest.skip("this build of torch keeps no pool of threads that a fork loses")


def test_a_program_that_waits_for_ever_and_is_no_story_says_where_it_stood(tmp_path: Path) -> None:
    said = answered(begun(tmp_path, ORDINARY, "--timeout", "4").communicate(timeout=PATIENCE)[0])
    assert re.search(rf"was in <module> +\S*program\.py:{line_of(ORDINARY)}\n", said) is not None
    assert "next: coldfork " in said


@pytest.mark.must_hold
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_has_an_answer(number: signal.Signals, tmp_path: Path) -> None:
    running = begun(tmp_path, LOCK.replace("child.join()", IGNORING))
    assert running.stdout is not None
    while "waiting" not in running.stdout.readline():
        pass
    running.send_signal(number)
    said = running.communicate(timeout=PATIENCE)[0]
    assert f" s after {number.name}" in said
    assert "[hang]" in said


IGNORING = """\
import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while "futex" not in open(f"/proc/{child.pid}/wchan").read():  # the child has come to the lock
        time.sleep(0.01)
    print("waiting", flush=True)
    child.join()"""


def test_a_program_that_starts_failing_processes_for_ever_is_noticed_while_it_runs(tmp_path: Path) -> None:
    running = begun(tmp_path, RESPAWNING)
    assert running.stdout is not None
    try:
        for line in running.stdout:
            if "certain[no-main-guard]" in line:
                break
        else:
            raise AssertionError("it ended without a word")
        assert running.poll() is None
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=PATIENCE)


def test_a_limit_is_for_commands_only(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "coldfork", "explain", "--timeout", "3", "a.log"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, "--timeout needs a command" in done.stderr) == (2, True)
