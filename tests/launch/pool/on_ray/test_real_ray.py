"""A pool on a real Ray, where that is installed; `./dev integration pool_ray` does more of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

if find_spec("ray.actor" if find_spec("ray") else "ray") is None:
    pytest.skip("Ray is not installed here", allow_module_level=True)

import ray

from coldfork.launch.pool.errors import (
    PoolBrokenError,
    RemoteError,
    TaskKilledError,
    TaskTimeoutError,
    WorkerDiedError,
)
from coldfork.launch.pool.on_ray import actor
from coldfork.launch.pool.pool import WorkerPool
from tests.launch.pool import targets
from tests.launch.pool.conftest import LIMIT
from tests.launch.pool.faults.leftovers import not_ended

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]


NODE = """
import sys
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster in another process, whose node can import what this one does; no pool may leave it."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "src"), *sys.path))
    with subprocess.Popen(
        [sys.executable, "-c", NODE],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        ray.init(address=node.stdout.readline().strip(), log_to_driver=False)
        yield
        assert ray.is_initialized()
        ray.shutdown()
        node.stdin.close()


def test_it_does_what_every_pool_does() -> None:
    with WorkerPool(2, backend="ray") as pool:
        assert list(pool.map(targets.square, range(20))) == [n * n for n in range(20)]
        assert isinstance(pool.submit(targets.fail, "meant").exception(LIMIT), ValueError)
        content = bytearray(b"\7" * 300_000)
        assert pool.submit(targets.fill, content).result(LIMIT) == b"\7\7\7\7"
        pids = pool.wait(timeout=LIMIT).health().pids
    assert not_ended(pids) == []


def test_a_dead_worker_fails_its_own_task_and_is_replaced() -> None:
    with WorkerPool(2, backend="ray") as pool:
        beside = pool.submit(time.sleep, 1)
        error = pool.submit(targets.die_of, signal.SIGKILL).exception(LIMIT)
        assert isinstance(error, WorkerDiedError)
        assert f"(pid {error.pid} on node " in str(error)
        assert "Ray says: its worker process has died" in str(error)
        assert beside.exception(LIMIT) is None
        assert error.pid not in pool.wait(timeout=LIMIT).health().pids


def test_a_task_that_takes_too_long_or_is_killed_ends_with_its_worker() -> None:
    with WorkerPool(1, backend="ray") as pool:
        assert isinstance(pool.submit(time.sleep, 600, timeout=0.2).exception(LIMIT), TaskTimeoutError)
        pool.wait(timeout=LIMIT)
        future = pool.submit(time.sleep, 600)
        assert future.kill()
        assert isinstance(future.exception(LIMIT), TaskKilledError)
        assert pool.submit(targets.square, 3).result(LIMIT) == 9


def test_a_worker_that_dies_with_nothing_to_do_is_replaced() -> None:
    with WorkerPool(1, backend="ray") as pool:
        (pid,) = pool.wait(timeout=LIMIT).health().pids
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + LIMIT
        while pool.health().pids in ((pid,), ()) and time.monotonic() < until:
            time.sleep(0.01)
        assert pool.submit(targets.square, 3).result(LIMIT) == 9


def test_an_initializer_that_fails_breaks_the_pool() -> None:
    with (
        WorkerPool(1, backend="ray", initializer=targets.fail, initargs=("no licence",)) as pool,
        pytest.raises(PoolBrokenError, match="ValueError: no licence"),
    ):
        pool.wait(timeout=LIMIT)


def test_a_dead_worker_s_task_is_done_again_only_where_that_was_asked_for(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with WorkerPool(1, backend="ray", retries=1) as pool:
        future = pool.submit(note_and_die_once, str(ran))
        assert future.result(LIMIT) == 2
        assert [type(error) for error in future.attempts] == [WorkerDiedError]
    ran.unlink()
    with WorkerPool(1, backend="ray") as pool:
        assert isinstance(pool.submit(note_and_die_once, str(ran)).exception(LIMIT), WorkerDiedError)
        assert pool.submit(targets.square, 3).result(LIMIT) == 9
    assert ran.read_text() == "x"


def test_what_ray_cannot_hand_over_fails_its_own_task_alone() -> None:
    with WorkerPool(1, backend="ray") as pool:
        pids = pool.wait(timeout=LIMIT).health().pids
        error = pool.submit(lose_one_answer).exception(LIMIT)
        assert isinstance(error, RemoteError)
        assert "Ray could not hand over" in str(error)
        assert "lost on its way" in str(error)
        assert pool.submit(targets.square, 3).result(LIMIT) == 9
        assert pool.health().pids == pids


def lose_one_answer() -> None:
    """Have the next answer of this worker fail where it is handed to Ray."""
    whole = actor.sent

    def fail(_: object) -> NoReturn:
        actor.sent = whole
        raise OSError("lost on its way")

    vars(actor)["sent"] = fail


def note_and_die_once(file: str) -> int:
    """Write down each run, and die in the first of them."""
    with Path(file).open("a", encoding="ascii") as stream:
        stream.write("x")
    runs = len(Path(file).read_text(encoding="ascii"))
    if runs == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return runs
