"""The program that `./dev bench pool --faults` measures: one fault of one contender, in a process of its own.

`... -m benchmarks.pool.fault_program CONTENDER FAULT FOLDER` prints what it measured as a line of JSON.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.pool import tasks
from benchmarks.pool.contenders import LIMIT, Contender, Pebble, WorkerPool

DEADLINE = 0.5


def killed(name: str, folder: Path) -> dict[str, float]:
    """From SIGKILL to the failed future, and to the first answer of the one that replaces it."""
    pool: Contender = WorkerPool(2, ()) if name == "coldfork" else Pebble(2, ())
    busy = pool.submit(tasks.say_and_wait, str(folder / "busy"))
    written(folder / "busy")
    victim = pool.submit(tasks.say_and_wait, str(folder / "victim"))
    _, pid = written(folder / "victim")
    began = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    failed = fails(pool, victim) - began
    # The other worker is busy: who answers is new.
    assert pool.result(pool.submit(tasks.process)) != pid
    healed = time.perf_counter() - began
    assert not busy.done()
    return {"failed": failed, "healed": healed}


def overrun(name: str, folder: Path) -> dict[str, float]:
    """From a task's deadline to the failed future, and to the end of its worker."""
    if name == "coldfork":
        ours = WorkerPool(1, ())
        assert ours.result(ours.submit(tasks.process)) > 0
        pool: Contender = ours
        victim: Any = ours.pool.submit(tasks.compute_for_ever, str(folder / "victim"), timeout=DEADLINE)
    else:
        pool = Pebble(1, (), timeout=DEADLINE)
        assert pool.result(pool.submit(tasks.process)) > 0
        victim = pool.submit(tasks.compute_for_ever, str(folder / "victim"))
    began, pid = written(folder / "victim")
    process = os.pidfd_open(pid)
    fails(pool, victim)
    failed = time.monotonic() - began - DEADLINE
    assert select.select([process], [], [], LIMIT)[0]
    ended = time.monotonic() - began - DEADLINE
    return {"overrun": failed, "ended": ended}


def orphaned(name: str, folder: Path) -> list[int]:
    """Both workers busy, one of them with children of its own; whoever started this kills it."""
    pool: Contender = WorkerPool(2, ()) if name == "coldfork" else Pebble(2, ())
    pool.submit(tasks.compute_for_ever, str(folder / "one"))
    pool.submit(tasks.say_and_wait_with_children, str(folder / "two"))
    pids = [written(folder / each)[1] for each in ("one", "two")]
    while len(noted := [path for path in folder.glob("two.*") if path.suffix[1:].isdigit()]) < 4:
        time.sleep(0.01)
    return [*pids, *(int(path.suffix[1:]) for path in noted)]


def written(path: Path) -> tuple[float, int]:
    """When a task began, and which process runs it."""
    until = time.monotonic() + LIMIT
    while not path.exists():
        if time.monotonic() > until:
            raise SystemExit(f"no task has written {path.name}")
        time.sleep(0.002)
    moment, pid = path.read_text(encoding="ascii").split()
    return float(moment), int(pid)


def fails(pool: Contender, handle: Any) -> float:
    """When it was known that a task has failed."""
    try:
        pool.result(handle)
    except Exception:
        return time.perf_counter()
    raise SystemExit("a task that cannot end has ended")


if __name__ == "__main__":
    found = globals()[sys.argv[2]](sys.argv[1], Path(sys.argv[3]))
    print(json.dumps(found), flush=True)
    if sys.argv[2] == "orphaned":
        time.sleep(LIMIT)
    os._exit(0)
