"""A pool on a cluster of two nodes, of which one is killed while 500 tasks are on their way."""

from __future__ import annotations

import collections
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

import coldfork

TASKS = 500
LIMIT = 120.0


def work(folder: str, number: int) -> tuple[int, str]:
    """Note that it was begun, and do nothing for a while."""
    with Path(folder, str(number)).open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.03)
    return number, ray.get_runtime_context().get_node_id()


class Settled:
    """Counts how often each future is settled."""

    def __init__(self) -> None:
        self.times: collections.Counter[int] = collections.Counter()
        self.some = threading.Event()

    def hear(self, future: Future[Any]) -> None:
        """A future has been settled."""
        self.times[id(future)] += 1
        if len(self.times) >= TASKS // 5:
            self.some.set()


def lose_a_node(cluster: Cluster, retries: int) -> None:
    """500 tasks; a node is killed when 100 of them are done."""
    node = cluster.add_node(num_cpus=2)
    settled = Settled()
    with (
        tempfile.TemporaryDirectory() as folder,
        coldfork.WorkerPool(4, backend="ray", retries=retries) as pool,
    ):
        pool.wait(timeout=LIMIT)
        futures = [pool.submit(work, folder, number) for number in range(TASKS)]
        for future in futures:
            future.add_done_callback(settled.hear)
        settled.some.wait(LIMIT)
        began = time.monotonic()
        cluster.remove_node(node, allow_graceful=False)
        done, undone = wait(futures, LIMIT)
        errors = {number: future.exception() for number, future in enumerate(futures) if future.exception()}
        good = [future.result() for future in futures if not future.exception()]
        nodes = collections.Counter(where for _, where in good)
        print(f"settled: {len(done)} of {TASKS}, each once: {set(settled.times.values()) == {1}}")
        print(
            f"the node that was killed had done {nodes[node.node_id] > 0} some of them; nodes: {len(nodes)}"
        )
        print(f"failed: {len(errors)}, all of them with {kinds(errors.values())}")
        ran = [len(runs(folder, number)) for number in range(TASKS)]
        attempts = [len(future.attempts) for future in futures]
        print(f"done by {sum(attempts)} more attempts, which were asked for: {retries}")
        print("no task ran oftener than that:", all(r <= 1 + a for r, a in zip(ran, attempts, strict=True)))
        print("what has a result ran:", all(ran[number] for number, _ in good), "undone:", len(undone))
        pool.wait(timeout=LIMIT)
        took = time.monotonic() - began
        print(f"healed: {pool.health()}; within 30 s: {took < 30}")
        again = [pool.submit(work, folder, TASKS + number).result(LIMIT)[0] for number in range(20)]
        print("and goes on:", again == list(range(TASKS, TASKS + 20)))
        print(f"it took {took:.1f} seconds", file=sys.stderr)
        for error in errors.values():
            print(f"  {error}")
        for future in futures:
            for error in future.attempts:
                print(f"  tried again: {error}")
    print("actors left:", len(actors()), "Ray is still the caller's:", ray.is_initialized())


def runs(folder: str, number: int) -> list[str]:
    """The processes that have begun with a task."""
    path = Path(folder) / str(number)
    return path.read_text(encoding="ascii").splitlines() if path.exists() else []


def kinds(errors: Any) -> str:
    """The classes of errors."""
    return ", ".join(sorted({type(error).__name__ for error in errors})) or "nothing"


def actors() -> list[int]:
    """The processes that actors of pools run in; each gets time to end."""
    until = time.monotonic() + 10
    while (found := [pid for pid in processes() if b"TaskActor" in name(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def processes() -> list[int]:
    """All of this session."""
    mine = os.getsid(0)
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += [int(entry.name)] if os.getsid(int(entry.name)) == mine else []
            except ProcessLookupError:
                continue
    return found


def name(pid: int) -> bytes:
    """Return the name of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def main() -> None:
    """Without retries, and with one."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        for retries in (0, 1):
            lose_a_node(cluster, retries)
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
