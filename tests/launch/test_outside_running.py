"""Processes of this very machine, seen from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from coldfork.launch.outside.census import census
from coldfork.launch.outside.kernel import Kernel
from coldfork.model.running import Census, StartedBy
from coldfork.model.states import Status

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc"),
]

WORKERS = """
import multiprocessing, os, sys, threading, time

def work(ready):
    ready.put(os.getpid())
    time.sleep(600)

if __name__ == "__main__":
    started = []
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        ready = context.Queue()
        context.Process(target=work, args=(ready,), daemon=True).start()
        started.append(ready.get())
    print(*started, flush=True)
    time.sleep(600)
"""
ORPHAN = """
import os, time
said, say = os.pipe()
child = os.fork()
if child == 0:
    grandchild = os.fork()
    if grandchild:
        os.write(say, str(grandchild).encode())
        os._exit(0)
else:
    os.waitpid(child, 0)
    # Only now has it lost its parent: the kernel hands it on before the one that ended can be waited for.
    print(os.read(said, 20).decode(), flush=True)
time.sleep(600)
"""
THREADS = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(threading.active_count(), flush=True)
time.sleep(600)
"""


@contextmanager
def running(folder: Path, code: str) -> Iterator[tuple[int, list[int]]]:
    """A program that runs until the block ends, and the numbers that it printed."""
    file = folder / "program.py"
    file.write_text(code, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        yield process.pid, list(map(int, process.stdout.readline().split()))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def look(*pids: int) -> Census:
    return census(Kernel(), pids)


def test_each_start_method_is_recognised(tmp_path: Path) -> None:
    with running(tmp_path, WORKERS) as (pid, started):
        found = {one.pid: one for one in look(pid).processes}
    assert [found[one].how for one in started] == [StartedBy.FORK, StartedBy.SPAWN, StartedBy.FORKSERVER]
    forked, spawned, served = (found[one] for one in started)
    assert (forked.parent, spawned.parent) == (pid, pid)
    assert served.parent is not None
    assert found[served.parent].role == "forkserver"
    assert (found[served.parent].how, found[served.parent].parent) == (StartedBy.EXEC, pid)
    assert "resource tracker" in {one.role for one in found.values()}
    assert (found[pid].how, found[pid].role, found[pid].depth) == (StartedBy.EXEC, None, 0)
    assert all(state.status is Status.ABSENT for one in found.values() for state in one.states)


def test_an_orphan_is_a_fork(tmp_path: Path) -> None:
    with running(tmp_path, ORPHAN) as (pid, (orphan,)):
        assert orphan not in {one.pid for one in look(pid).processes}
        (alone,) = look(orphan).processes
    assert alone.how is StartedBy.FORK


def test_threads_of_python_are_counted(tmp_path: Path) -> None:
    with running(tmp_path, THREADS) as (pid, (count,)):
        (found,) = look(pid).processes
    assert found.threads is not None
    assert (found.threads.total, found.threads.python, found.threads.libraries) == (count, count, ())


def test_descriptors_are_compared_by_the_kernel(tmp_path: Path) -> None:
    """The judgement of a device file rests on it: inherited, and opened anew under the same number."""
    code = """
import os, sys, time
inherited = os.open("/dev/null", os.O_RDONLY)
if os.fork() == 0:
    own = os.open("/dev/null", os.O_RDONLY)
    print(os.getpid(), inherited, own, flush=True)
    time.sleep(600)
os.open("/dev/null", os.O_RDONLY)
time.sleep(600)
"""
    with running(tmp_path, code) as (pid, (child, inherited, own)):
        kernel = Kernel()
        while own not in kernel.open_files(pid):
            pass
        assert kernel.is_same_file(child, inherited, pid, inherited)
        assert not kernel.is_same_file(child, own, pid, own)
        with pytest.raises(OSError, match="Bad file descriptor"):
            kernel.is_same_file(child, 4000, pid, inherited)


def test_processes_that_come_and_go_disturb_no_look(tmp_path: Path) -> None:
    code = """
import os, time
print(0, flush=True)
running = 0
while True:
    time.sleep(0.001)
    if os.fork() == 0:
        time.sleep(0.001 if running % 2 else 0.5)
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    running += 1
    if running == 8:
        os.wait()
        running -= 1
"""
    with running(tmp_path, code) as (pid, _):
        until, seen, disturbed = time.monotonic() + 60, 0, 0
        while seen < 20 or (not disturbed and time.monotonic() < until):
            one = look(pid)
            assert one.processes[0].pid == pid
            disturbed += len(one.processes) > 1 or bool(one.vanished)
            seen += 1
    assert disturbed, "nothing ever came and went"


def test_a_look_stops_nothing(tmp_path: Path) -> None:
    """The process is traced by nobody and goes on counting while it is looked at."""
    code = """
import os, sys, time
print(os.getpid(), flush=True)
while True:
    sys.stdout.write("1\\n")
"""
    with running(tmp_path, code) as (pid, _):
        traced: list[bytes] = []
        done = threading.Event()

        def observe() -> None:
            while not done.is_set():
                status = Path(f"/proc/{pid}/status").read_bytes()
                traced.extend(
                    line for line in status.splitlines() if line.startswith((b"TracerPid", b"State"))
                )

        watcher = threading.Thread(target=observe)
        watcher.start()
        for _ in range(20):
            look(pid)
        done.set()
        watcher.join()
    assert traced
    assert {line for line in traced if line.startswith(b"TracerPid")} == {b"TracerPid:\t0"}
    assert not any(b"T (stopped)" in line or b"t (tracing" in line for line in traced)
