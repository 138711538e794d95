"""The program that `./dev bench pool --soak` watches: a pool under mixed work, some of which fails.

`... -m benchmarks.pool.soak_program SECONDS` prints a line of JSON for each sample, taken while nothing runs.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.pool import tasks
from benchmarks.pool.contenders import LIMIT, WorkerPool
from benchmarks.pool.faults import descendants

EVERY = 5.0
WORKERS = 2


def main(seconds: float) -> None:
    """Work and take samples."""
    draw = random.Random(7)
    ours = WorkerPool(WORKERS, ())
    until = time.monotonic() + seconds
    done = failed = 0
    while time.monotonic() < until:
        pause = time.monotonic() + EVERY
        while time.monotonic() < pause:
            good, bad = turn(ours, draw)
            done, failed = done + good, failed + bad
        print(json.dumps({"done": done, "failed": failed, **sample(ours)}), flush=True)
    ours.stop()
    print(
        json.dumps({"left": left_behind(), "threads": threading.active_count()}),
        flush=True,
    )


def turn(ours: WorkerPool, draw: random.Random) -> tuple[int, int]:
    """Some tasks of each kind; how many ended well, and how many were to fail and did."""
    pool = ours.pool
    good = [pool.submit(tasks.same, os.urandom(draw.randrange(4000))) for _ in range(100)]
    good += [pool.submit(tasks.same, bytes(draw.randrange(4_000_000))) for _ in range(4)]
    good += [pool.submit(tasks.zeros, draw.randrange(8_000_000)) for _ in range(4)]
    bad = [pool.submit(tasks.raise_error, "meant") for _ in range(20)]
    if draw.random() < 0.1:
        bad.append(pool.submit(signal.pause, timeout=0.05))
    if draw.random() < 0.1:
        bad.append(pool.submit(os._exit, draw.randrange(256)))
    for handle in good:
        handle.result(LIMIT)
    return len(good), sum(handle.exception(LIMIT) is not None for handle in bad)


def sample(ours: WorkerPool) -> dict[str, float]:
    """Memory in megabytes and open descriptors, here and in what was started, with every worker there."""
    for handle in [ours.submit(tasks.process, 0.3) for _ in range(WORKERS)]:
        ours.result(handle)
    others = sorted(descendants(os.getpid()))
    return {
        "own": proportional(os.getpid()),
        "others": sum(map(proportional, others)),
        "processes": len(others),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "threads": threading.active_count(),
    }


def left_behind() -> list[int]:
    """The processes that still run, but for the one that multiprocessing keeps for itself."""
    found = []
    for pid in sorted(descendants(os.getpid())):
        with suppress(OSError):
            if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def proportional(pid: int) -> float:
    """Return a process's own memory and its share of the rest, in megabytes; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main(float(sys.argv[1]))
