"""Whose Ray it is that a pool uses, and what is left of it in the end: pool_ray_ends.py [PART]"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

import coldfork

LIMIT = 120.0


def mine() -> None:
    """No Ray is there: the pools start one, and end it with the last of them."""
    first = coldfork.WorkerPool(1, backend="ray")
    with coldfork.WorkerPool(1, backend="ray") as second:
        pids = [pool.submit(os.getpid).result(LIMIT) for pool in (first, second)]
    print("a second pool has ended; Ray is there for the first:", first.submit(abs, -1).result(LIMIT) == 1)
    first.shutdown()
    print("Ray after the last of them:", ray.is_initialized(), "workers left:", left(pids))
    with coldfork.WorkerPool(backend="ray") as pool:
        print("workers, unless told:", pool.health().workers == len(os.sched_getaffinity(0)))
        print("and once more:", pool.submit(abs, -2).result(LIMIT))


def callers() -> None:
    """A Ray of the caller's is used, and stays."""
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False)
    thing = ray.put("kept")
    with coldfork.WorkerPool(backend="ray") as pool:
        pids = [*pool.wait(timeout=LIMIT).health().pids]
        print("workers of a cluster with three processors:", len(pids))
    print(
        "the caller's Ray after the pool:", ray.is_initialized(), ray.get(thing), "workers left:", left(pids)
    )
    pool = coldfork.WorkerPool(2, backend="ray").wait(timeout=LIMIT)
    busy = [pool.submit(time.sleep, 600) for _ in range(5)]
    pids = [*pool.health().pids]
    pool.kill()
    print("kill:", sorted({how(future) for future in busy}), "workers left:", left(pids))
    ray.shutdown()


def how(future: Any) -> str:
    """How a future has ended."""
    return "cancelled" if future.cancelled() else type(future.exception(LIMIT)).__name__


def forgotten() -> None:
    """A program that does not end its pool: what was submitted is done, and then all of it ends."""
    pool = coldfork.WorkerPool(1, backend="ray")
    pool.submit(time.sleep, 1).add_done_callback(lambda future: print("done at the end:", future.exception()))


def busy(folder: str) -> None:
    """A program that is to be killed at its work."""
    with coldfork.WorkerPool(2, backend="ray") as pool:
        futures = [pool.submit(linger, folder, number) for number in range(2)]
        print("a task's error:", [future.exception() for future in futures])


def linger(folder: str, number: int) -> None:
    """Say which process it is, and stay."""
    Path(folder, f"new{number}").write_text(str(os.getpid()), encoding="ascii")
    Path(folder, f"new{number}").rename(Path(folder, str(number)))
    time.sleep(600)


def killed() -> None:
    """The pool's process is killed, and interrupted, on a cluster that goes on without it."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "include_dashboard": False})
    try:
        for number in (signal.SIGKILL, signal.SIGINT):
            with tempfile.TemporaryDirectory() as folder:
                program = subprocess.Popen(
                    [sys.executable, __file__, "busy", folder],
                    env={**os.environ, "RAY_ADDRESS": cluster.address},
                    stderr=subprocess.DEVNULL,
                )
                files = [Path(folder, name) for name in "01"]
                while not all(file.exists() for file in files):
                    time.sleep(0.05)
                pids = [int(file.read_text()) for file in files]
                began = time.monotonic()
                program.send_signal(number)
                status = program.wait(LIMIT)
                print(f"{number.name}: ended with {status}; workers left: {left(pids)}", flush=True)
                print(f"{number.name}: {time.monotonic() - began:.1f} seconds", file=sys.stderr)
    finally:
        cluster.shutdown()


def without() -> None:
    """A cluster whose nodes do not have coldfork."""
    del os.environ["PYTHONPATH"]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        with coldfork.WorkerPool(2, backend="ray") as pool:
            try:
                pool.wait(timeout=LIMIT)
            except coldfork.PoolBrokenError as error:
                print(error)
    finally:
        ray.shutdown()
        cluster.shutdown()


def left(pids: list[int]) -> int:
    """How many of these have not ended within a while."""
    count = 0
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        count += not select.select([process], [], [], 30)[0]
        os.close(process)
    return count


PARTS: dict[str, Any] = {part.__name__: part for part in (mine, callers, forgotten, busy, killed, without)}

if __name__ == "__main__":
    PARTS[sys.argv[1]](*sys.argv[2:])
