"""The program that `./dev bench pool` measures: one round of one contender, in a process of its own.

`... -m benchmarks.pool.program CONTENDER JOB`, where the job is a JSON object. It prints what it measured as
a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.pool import tasks
from benchmarks.pool.contenders import CONTENDERS, MAPS_ONLY, Contender

WORKERS = 2
KILOBYTE = 1024
LARGE = 50_000_000


def main(name: str, job: dict[str, Any]) -> None:
    """One round; what the contender leaves behind is ended by whoever started this."""
    modules = tuple(job["modules"])
    make = CONTENDERS[name]
    began = time.perf_counter()
    pool = make(WORKERS, modules)
    assert pool.result(pool.submit(tasks.imported, modules))
    figures = {"cold": time.perf_counter() - began}
    warm_up(pool)
    if name not in MAPS_ONLY:
        figures |= small(pool, job["calls"], job["tasks"])
        if job["arrays"]:
            figures |= large(pool, job["arrays"])
        figures["new"] = new_worker(make, modules)
    figures["map"] = job["tasks"] / mapped(pool, job["tasks"])
    print(json.dumps(figures), flush=True)
    pool.stop()


def warm_up(pool: Contender) -> None:
    """Have both workers there, and each way walked a few times."""
    for handle in [pool.submit(tasks.process, 0.3) for _ in range(WORKERS)]:
        pool.result(handle)
    for _ in range(50):
        pool.result(pool.submit(tasks.nothing, os.urandom(KILOBYTE)))


def small(pool: Contender, calls: int, count: int) -> dict[str, float]:
    """How long one call takes, and how many a second there are when many were sent."""
    payload = os.urandom(KILOBYTE)
    times = [timed(lambda: pool.result(pool.submit(tasks.nothing, payload))) for _ in range(calls)]
    # Each task has a payload of its own: one object for all would be sent once for a whole batch.
    payloads = [os.urandom(KILOBYTE) for _ in range(count)]

    def all_of_them() -> None:
        handles = [pool.submit(tasks.nothing, each) for each in payloads]
        for handle in handles:
            pool.result(handle)

    return {"trip": median(times), "rate": count / timed(all_of_them)}


def mapped(pool: Contender, count: int) -> float:
    """How long the contender's own map takes for so many."""
    payloads = [os.urandom(KILOBYTE) for _ in range(count)]
    return timed(lambda: list(pool.map(tasks.nothing, payloads)))


def large(pool: Contender, times: int) -> dict[str, float]:
    """How long an array of 50 MB takes to arrive, and to come back."""
    from importlib import import_module

    numpy = import_module("numpy")
    array = numpy.random.default_rng(0).integers(0, 255, LARGE, dtype=numpy.uint8)

    def there() -> None:
        assert pool.result(pool.submit(tasks.size, array)) == array.nbytes

    def there_and_back() -> None:
        back = pool.result(pool.submit(tasks.same, array))
        assert back.nbytes == array.nbytes
        assert back[-1] == array[-1]

    # The first of each does not count: pages are asked of the kernel then.
    return {
        "sent": median([timed(there) for _ in range(times + 1)][1:]),
        "echoed": median([timed(there_and_back) for _ in range(times + 1)][1:]),
    }


def new_worker(make: Callable[..., Contender], modules: tuple[str, ...]) -> float:
    """How long one more worker takes to have the modules, while whatever starts workers is there already."""
    began = time.perf_counter()
    pool = make(1, modules)
    assert pool.result(pool.submit(tasks.imported, modules))
    taken = time.perf_counter() - began
    pool.stop()
    return taken


def timed(work: Callable[[], Any]) -> float:
    """How long a call takes, in seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
