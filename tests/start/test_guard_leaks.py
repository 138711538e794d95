"""A thousand refused starts of every kind leave nothing behind, and the process works afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.start.guarding import WAKE, needs_compiler, needs_linux, told

pytestmark = [needs_linux, needs_compiler]

STARTS = {
    "os.fork": "os.fork()",
    "early-bound os.fork": "early_bound()",
    "os.forkpty": "os.forkpty()",
    "pty.fork": "pty.fork()",
    "Process": "context.Process(target=print).start()",
    "Pool": "context.Pool(2)",
    "Executor": "executor()",
}

PROGRAM = (
    WAKE
    + """
import concurrent.futures, gc, json, multiprocessing, multiprocessing.pool, os, pty, sys, tempfile, threading
from os import fork as early_bound
import coldfork

context = multiprocessing.get_context("fork")

def executor():
    made = concurrent.futures.ProcessPoolExecutor(2, context)
    try:
        made.submit(int)
    finally:
        made.shutdown()

def start():
    START

def refused(times):
    for _ in range(times):
        try:
            start()
        except coldfork.UnsafeForkError:
            continue
        raise SystemExit("it was not refused")

def leftovers():
    gc.collect()
    return {
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
        "threads": sorted(os.listdir("/proc/self/task")),
        "children": open(f"/proc/self/task/{os.getpid()}/children").read(),
        "multiprocessing's children": len(multiprocessing.active_children()),
        "shared memory": sorted(name for name in os.listdir("/dev/shm") if str(os.getpid()) in name),
        "temporary files": sorted(os.listdir(tempfile.gettempdir())),
        "import lock": __import__("_imp").lock_held(),
        "modes": len(guard._modes),
        "handed on": len(guard._handed_on) + len(guard._cleared),
    }

def works():
    import wave  # nothing of the above has imported it
    seen = []
    thread = threading.Thread(target=seen.append, args=(wave.__name__,))
    thread.start()
    thread.join()
    with coldfork.allow_fork("it ends at once"):
        process = context.Process(target=work)
        process.start()
        process.join()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
    return [seen, process.exitcode, status]

def work():
    import colorsys  # an import in the child

if __name__ == "__main__":
    from coldfork.start.guard.process import HERE as guard
    coldfork.guard("strict")
    wake()
    refused(3)
    before = leftovers()
    refused(TIMES)
    print(json.dumps([before, leftovers(), works()]))
"""
)


@pytest.mark.must_hold
@pytest.mark.parametrize("kind", STARTS)
def test_a_thousand_refused_starts_leave_nothing(kind: str, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = PROGRAM.replace("START", STARTS[kind]).replace("TIMES", "1000")
    before, after, (seen, exit_code, status) = told(program, tmp_path, TMPDIR=str(temporary))
    assert after == before
    assert after["children"] == ""
    assert (seen, exit_code, status) == (["wave"], 0, 0)


def test_the_test_can_fail(tmp_path: Path) -> None:
    program = PROGRAM.replace("START", "context.Process(target=print).start()").replace("TIMES", "10")
    without_the_check = program.replace(
        'coldfork.guard("strict")',
        'coldfork.guard("strict")\n'
        "    import multiprocessing.popen_fork as unguarded\n"
        "    unguarded.Popen._launch = unguarded.Popen._launch.coldfork_guards",
    )
    assert without_the_check != program
    before, after, _ = told(without_the_check, tmp_path)
    assert len(after["descriptors"]) == len(before["descriptors"]) + 40
