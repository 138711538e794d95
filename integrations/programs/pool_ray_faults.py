"""Faults of workers that are actors, one after the other, on a real Ray."""

from __future__ import annotations

import collections
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import ray

import coldfork

LIMIT = 120.0
Pool = partial(coldfork.WorkerPool, backend="ray")


def noted(file: str, seconds: float) -> int:
    """Write down that it was begun, and wait."""
    with Path(file).open("a", encoding="ascii") as stream:
        stream.write(f"{os.getpid()}\n")
    time.sleep(seconds)
    return os.getpid()


def with_child(file: str) -> None:
    """Start a process, write down which it is, and wait for it."""
    child = subprocess.Popen(["sleep", "600"])
    Path(file).write_text(f"{child.pid}\n", encoding="ascii")
    child.wait()


def hold_the_lock() -> None:
    """Keep every other thread of the process from running."""
    ctypes.PyDLL(None).sleep(600)


def stand_still(file: str) -> None:
    """Stop the process as a debugger does."""
    noted(file, 0)
    os.kill(os.getpid(), signal.SIGSTOP)


def refuse() -> NoReturn:
    """An initializer that fails."""
    raise OSError("no licence for this machine")


def devices(seconds: float = 0) -> str | None:
    """Return the devices that a worker may see; slowly, so that another worker takes the next task."""
    time.sleep(seconds)
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def told(sentence: str, *facts: object) -> None:
    """A line of the transcript."""
    print(f"{sentence}:", *facts, flush=True)


def failure(call: Callable[[], object]) -> str:
    """The error of a call: its class and its first line."""
    try:
        return f"no error: {call()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@contextmanager
def begun_with(
    pool: coldfork.WorkerPool, function: Callable[..., object], *args: Any, **options: Any
) -> Iterator[Any]:
    """A task that has begun, and the number that it has written down."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "begun"
        future = pool.submit(function, str(file), *args, **options)
        until = time.monotonic() + LIMIT
        while not (file.exists() and file.read_text().endswith("\n")) and time.monotonic() < until:
            time.sleep(0.01)
        yield future, int(file.read_text().split()[0])


def gone(pid: int, seconds: float = 30) -> bool:
    """Whether a process has ended, within a while."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def deaths() -> None:
    """Workers that die, hang and are killed, beside one that goes on."""
    with Pool(2) as pool:
        pool.wait(timeout=LIMIT)
        beside = pool.submit(time.sleep, 3)
        with begun_with(pool, noted, 600) as (future, pid):
            began = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            told(
                "SIGKILL",
                failure(lambda: future.result(LIMIT)),
                f"(its pid: {future.exception().pid == pid})",
            )
            told("within a second", time.monotonic() - began < 1)
        told("a segmentation fault", failure(lambda: pool.submit(ctypes.string_at, 0).result(LIMIT)))
        began = time.monotonic()
        told(
            "a hang that holds the GIL", failure(lambda: pool.submit(hold_the_lock, timeout=1).result(LIMIT))
        )
        told("within a second of the deadline", time.monotonic() - began < 2)
        with begun_with(pool, stand_still, timeout=1) as (future, pid):
            told("a worker that was stopped", failure(lambda: future.result(LIMIT)))
            told("and is gone", gone(pid))
        with begun_with(pool, with_child) as (future, child):
            future.kill()
            told("kill", failure(lambda: future.result(LIMIT)), "its child is gone:", gone(child))
        told("who was beside all this", beside.exception(LIMIT))
        for pid in pool.wait(timeout=LIMIT).health().pids:
            os.kill(pid, signal.SIGKILL)
        told("both killed while they had nothing to do", "replaced:", replaced(pool, 2))
        told("in the end", pool.submit(noted, os.devnull, 0).result(LIMIT) > 0, pool.health())


def replaced(pool: coldfork.WorkerPool, count: int) -> bool:
    """Whether so many more workers have ended and been started again, with nobody asking."""
    until = time.monotonic() + LIMIT
    ended = pool.health().counts.ended
    while time.monotonic() < until:
        health = pool.health()
        if health.counts.ended >= ended + count and health.warm == health.workers:
            return True
        time.sleep(0.05)
    return False


def kills_at_random() -> None:
    """Many tasks, and workers that are killed at any moment."""
    settled: collections.Counter[int] = collections.Counter()
    kills, most = 0, 20
    with tempfile.TemporaryDirectory() as folder, Pool(3) as pool:
        pool.wait(timeout=LIMIT)
        futures = [pool.submit(noted, f"{folder}/{number}", 0.005) for number in range(1000)]
        for future in futures:
            future.add_done_callback(lambda future: settled.update([id(future)]))
        while kills < most and not all(future.done() for future in futures):
            pids = pool.health().pids
            if pids:
                try:
                    os.kill(random.choice(pids), signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    continue
            time.sleep(0.1)
        wait(futures, LIMIT)
        ran = [Path(folder, str(number)) for number in range(1000)]
        oftenest = max(len(file.read_text().split()) for file in ran if file.exists())
        failed = [future for future in futures if future.exception()]
        kinds = {type(future.exception()).__name__ for future in failed}
        told("1000 tasks, workers killed at random", "each settled once:", set(settled.values()) == {1})
        told("most runs of one task", oftenest)
        told("failed, and not more than were killed", 0 < len(failed) <= kills, kinds)
        print(f"{kills} kills, {len(failed)} failed", file=sys.stderr)


def starts() -> None:
    """Workers that cannot be made ready."""
    with Pool(1, initializer=refuse) as pool:
        told("an initializer that fails", failure(pool.wait), "|", str(failure_text(pool)).splitlines()[-1])
    with Pool(1, ["pool_ray_preload"]) as pool:
        told("a preload that fails", failure(pool.wait), "|", str(failure_text(pool)).splitlines()[-1])
    with Pool(1, initializer=os._exit, initargs=(3,)) as pool:
        told("an initializer that ends the worker", failure(lambda: pool.wait(timeout=LIMIT)))
    with Pool(1, initializer=noted, initargs=(threading.Lock(),)) as pool:
        told("an initializer that cannot be sent", failure(pool.wait))


def failure_text(pool: coldfork.WorkerPool) -> str:
    """All that a broken pool says."""
    try:
        pool.wait()
    except coldfork.PoolBrokenError as error:
        return str(error)
    return ""


def shares() -> None:
    """Devices, and workers that are replaced."""
    with Pool(2, devices="auto") as pool:
        pool.wait(timeout=LIMIT)
        futures = [pool.submit(devices, 0.5) for _ in range(2)]
        told("devices", sorted((future.result(LIMIT), future.device) for future in futures))
    with Pool(3, devices="auto") as pool:
        pool.wait(2, timeout=LIMIT)
        told("more than there are", failure(lambda: pool.wait(timeout=1)))
        told("those that are there work", pool.submit(abs, -1).result(LIMIT))
    with Pool(4, devices=1) as pool:
        told("four workers share one", pool.wait(timeout=LIMIT).health(), pool.submit(devices).result(LIMIT))
    with Pool(1, max_tasks=2) as pool:
        pids = [pool.submit(os.getpid).result(LIMIT) for _ in range(6)]
        told(
            "six tasks with max_tasks=2",
            len(set(pids)),
            "workers;",
            dict(pool.health().counts.ends)["max-tasks"] >= 2,
        )
    with Pool(1, retries=1) as pool, begun_with(pool, noted, 5) as (future, pid):
        os.kill(pid, signal.SIGKILL)
        again = future.result(LIMIT)
        told(
            "retries=1",
            "done by another:",
            again != pid,
            "attempts:",
            [type(e).__name__ for e in future.attempts],
        )


def large() -> None:
    """Results that are larger than Ray's object store."""
    with Pool(1) as pool:
        result = pool.submit(bytes, 400_000_000).result(LIMIT)
        told("400 MB out of a store of 150 MB", len(result), not any(result[::4096]))
        array = bytearray(b"\1") * 200_000_000
        told("200 MB there and back", pool.submit(bytes, array).result(LIMIT) == array)


def left() -> None:
    """Ray is ended while a pool uses it."""
    pool = Pool(2).wait(timeout=LIMIT)
    futures: list[Future[Any]] = [pool.submit(time.sleep, 600) for _ in range(5)]
    while not futures[0].running():
        time.sleep(0.01)
    ray.shutdown()
    told("Ray was shut down", {failure(partial(future.result, LIMIT)) for future in futures})
    told("a task after that", failure(lambda: pool.submit(abs, 1)))
    pool.shutdown()
    told("and Ray was not started again", not ray.is_initialized())


def main() -> None:
    """All of it, on a cluster of this process with two devices that are numbers only."""
    ray.init(
        address="local",
        num_cpus=4,
        num_gpus=2,
        object_store_memory=150_000_000,
        include_dashboard=False,
        log_to_driver=False,
    )
    parts = {part.__name__: part for part in (deaths, kills_at_random, starts, shares, large, left)}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
