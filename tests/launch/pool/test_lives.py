"""How pools begin and end, and how their workers are replaced."""

from __future__ import annotations

import gc
import os
import signal
import threading
from pathlib import Path

import pytest

import coldfork
from coldfork.launch.pool.errors import PoolBrokenError, TaskKilledError, WorkerDiedError
from coldfork.launch.pool.pool import WorkerPool
from coldfork.model.errors import UsageError
from tests.launch.pool import targets
from tests.launch.pool.conftest import LIMIT
from tests.launch.pool.faults.leftovers import not_ended

pytestmark = pytest.mark.once


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("worker pool")}


def test_nothing_is_left_of_a_pool() -> None:
    with WorkerPool(1) as once:
        once.submit(targets.square, 1).result(LIMIT)
    before = descriptors()
    with WorkerPool(2) as pool:
        assert pool.submit(targets.square, 3).result(LIMIT) == 9
        pids = list(pool.wait(timeout=LIMIT).health().pids)
        with pytest.raises(WorkerDiedError):
            pool.submit(targets.die_of, signal.SIGKILL).result(LIMIT)
        pids += pool.wait(timeout=LIMIT).health().pids
    assert not_ended(pids) == []
    assert descriptors() == before
    assert not threads()


def test_what_was_submitted_is_done_before_the_end() -> None:
    with WorkerPool(2) as pool:
        futures = [pool.submit(targets.square, number) for number in range(500)]
    assert [future.result(0) for future in futures] == [n**2 for n in range(500)]
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(targets.square, 1)


def test_a_pool_that_nobody_holds_ends_when_its_work_is_done() -> None:
    pool = WorkerPool(1)
    future, dispatcher = pool.submit(targets.square, 7), pool._dispatcher
    del pool
    gc.collect()
    assert future.result(LIMIT) == 49
    dispatcher.await_end()


def test_the_rest_can_be_cancelled(tmp_path: Path) -> None:
    began, go = (os.fspath(tmp_path / name) for name in ("began", "go"))
    os.mkfifo(began)
    os.mkfifo(go)
    pool = WorkerPool(1)
    running = pool.submit(targets.begin_and_await, began, go)
    waiting = [pool.submit(targets.square, n) for n in range(10)]
    Path(began).read_text("utf-8")
    pool.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in waiting)
    targets.write(go, "")
    assert running.result(LIMIT) == running.worker
    pool.shutdown()


def test_a_pool_can_be_killed(tmp_path: Path) -> None:
    began = os.fspath(tmp_path / "began")
    os.mkfifo(began)
    pool = WorkerPool(1)
    running = pool.submit(targets.begin_and_hang, began)
    waiting = pool.submit(targets.square, 2)
    Path(began).read_text("utf-8")
    pool.kill()
    with pytest.raises(TaskKilledError):
        running.result(0)
    assert waiting.cancelled()
    assert running.worker is not None
    assert not_ended([running.worker]) == []


def test_workers_are_replaced_after_so_many_tasks() -> None:
    with WorkerPool(1, max_tasks=3) as pool:
        pids = [pool.submit(os.getpid).result(LIMIT) for _ in range(9)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 3]


def test_a_burst_is_divided_as_well() -> None:
    with WorkerPool(2, max_tasks=10) as pool:
        pids = list(pool.map(targets.tell_pid, range(100)))
    assert max(pids.count(pid) for pid in pids) == 10


def test_a_task_is_done_again_only_where_that_was_asked_for(tmp_path: Path) -> None:
    with WorkerPool(1, retries=1) as pool:
        future = pool.submit(targets.die_once, os.fspath(tmp_path / "tried"))
        assert future.result(LIMIT) == "at last"
        assert [type(error) for error in future.attempts] == [WorkerDiedError]
        assert pool.health().counts.retried == 1
        twice = pool.submit(targets.die_of, signal.SIGKILL)
        with pytest.raises(WorkerDiedError):
            twice.result(LIMIT)
        assert len(twice.attempts) == 1


def test_each_worker_is_initialised() -> None:
    with WorkerPool(2, initializer=targets.initialise, initargs=("SOMETHING", "set")) as pool:
        assert set(pool.map(targets.getenv, ["SOMETHING"] * 20)) == {"set"}


def test_an_initialiser_that_raises_breaks_the_pool() -> None:
    pool = WorkerPool(2, initializer=targets.fail, initargs=("not today",))
    with pytest.raises(PoolBrokenError, match="not today"):
        pool.submit(targets.square, 2).result(LIMIT)
    with pytest.raises(PoolBrokenError, match="not today"):
        pool.submit(targets.square, 2)
    with pytest.raises(PoolBrokenError, match="not today"):
        pool.wait(timeout=LIMIT)
    health = pool.health()
    assert not health.ok
    assert str(health) == f"0 warm, {health.failures} failed to start: ValueError: not today"
    pool.shutdown()
    assert not threads()


def test_workers_that_die_while_they_start_break_the_pool() -> None:
    pool = WorkerPool(1, initializer=targets.leave, initargs=(4,))
    with pytest.raises(PoolBrokenError, match="status 4 before it was ready; its last lines"):
        pool.submit(targets.square, 2).result(LIMIT)
    pool.shutdown()


def test_a_preload_that_raises_breaks_the_pool() -> None:
    with pytest.raises(PoolBrokenError, match="no_such_part_of_it"):
        WorkerPool(1, preload=["json.no_such_part_of_it"]).submit(targets.square, 2).result(LIMIT)


def test_the_environment_is_the_caller_s_with_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "as it was")
    monkeypatch.setenv("TAKEN", "away")
    with WorkerPool(1, env={"ADDED": "here", "TAKEN": None}) as pool:
        found = [pool.submit(targets.getenv, name).result(LIMIT) for name in ("KEPT", "TAKEN", "ADDED")]
    assert found == ["as it was", None, "here"]
    assert os.environ["TAKEN"] == "away"


def test_it_is_set_before_the_interpreter_starts() -> None:
    found = set()
    for _ in range(2):
        with WorkerPool(1, env={"PYTHONHASHSEED": "7"}) as pool:
            found.add(pool.submit(targets.hashed, "x").result(LIMIT))
    assert len(found) == 1


def test_logs_hold_what_workers_write(tmp_path: Path) -> None:
    with WorkerPool(1, log_dir=tmp_path / "logs") as pool:
        pool.submit(targets.shout, "hello").result(LIMIT)
    written = (tmp_path / "logs" / "worker-0.log").read_text("utf-8")
    assert sorted(written.splitlines()) == ["HELLO", "hello"]


def test_a_log_that_would_grow_too_large_is_set_aside(tmp_path: Path) -> None:
    """Whoever wrote to it: the worker before, or another pool."""
    for _ in range(2):
        with WorkerPool(1, log_dir=tmp_path, most_logged=1000, max_tasks=1) as pool:
            for number in range(20):
                pool.submit(targets.shout, f"{number} {'x' * 100}").result(LIMIT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["worker-0.log", "worker-0.older.log"]
    for path in tmp_path.iterdir():
        assert path.stat().st_size < 1100
        first, *_, last = path.read_text("utf-8").splitlines()
        assert first == "[coldfork: what came before is in worker-0.older.log]"
    last = (tmp_path / "worker-0.log").read_text("utf-8").splitlines()[-1]
    assert last.split()[0] == "19"


def test_a_full_queue_makes_its_caller_wait() -> None:
    with WorkerPool(1, max_queue=3) as pool:
        futures = [pool.submit(targets.square, n) for n in range(100)]
        assert [future.result(LIMIT) for future in futures] == [n**2 for n in range(100)]


def test_workers_may_have_children() -> None:
    with WorkerPool(1) as pool:
        assert pool.submit(targets.square_in_child, 5).result(LIMIT) == 25


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"workers": 0}, "workers has to be"),
        ({"workers": 1, "timeout": 0}, "timeout has to be a number of seconds"),
        ({"workers": 1, "backend": "moon"}, "no backend 'moon'"),
        ({"workers": 1, "retries": -1}, "retries"),
        ({"workers": 1, "initializer": 5}, "initializer"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        WorkerPool(**arguments)  # type: ignore[arg-type]


def test_it_is_public() -> None:
    assert coldfork.WorkerPool is WorkerPool


def test_a_pool_is_killed_while_a_worker_has_a_task_that_it_has_not_come_to() -> None:
    pool = WorkerPool(1).wait(timeout=LIMIT)
    (pid,) = pool.health().pids
    os.kill(pid, signal.SIGSTOP)
    future = pool.submit(targets.square, 1)
    killing = threading.Thread(target=pool.kill, daemon=True)
    killing.start()
    killing.join(LIMIT)
    assert not killing.is_alive()
    assert isinstance(future.exception(0), TaskKilledError)
    assert pool.health().counts.ends["shutdown"] == 1
