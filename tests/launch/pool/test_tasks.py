"""A pool's handling of tasks: their values, their errors, their order, and what comes between."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, as_completed, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import (
    PoolError,
    RemoteError,
    TaskKilledError,
    TaskTimeoutError,
    WorkerDiedError,
)
from coldfork.launch.pool.pool import WorkerPool
from tests.launch.pool import targets
from tests.launch.pool.conftest import LIMIT
from tests.launch.pool.faults.leftovers import not_ended


@pytest.fixture
def named_pipe(tmp_path: Path) -> Callable[[str], str]:
    """Makes named pipes, by which a test hears of what a worker has come to."""

    def make(name: str) -> str:
        path = os.fspath(tmp_path / name)
        os.mkfifo(path)
        return path

    return make


def read(path: str) -> str:
    return Path(path).read_text("utf-8")


def test_a_task_returns_what_its_function_does(pool: WorkerPool) -> None:
    assert pool.submit(targets.add, 2, other=3).result(LIMIT) == 5


def test_it_is_done_in_a_worker(pool: WorkerPool) -> None:
    future = pool.submit(os.getpid)
    assert future.result(LIMIT) == future.worker
    assert future.worker in pool.health().pids
    assert future.worker != os.getpid()


def test_many_tasks_all_come_back(pool: WorkerPool) -> None:
    futures = [pool.submit(targets.square, number) for number in range(2_000)]
    found = sorted(future.result() for future in as_completed(futures, LIMIT))
    assert found == [number**2 for number in range(2_000)]


def test_map_keeps_the_order(pool: WorkerPool) -> None:
    assert list(pool.map(targets.square, range(300))) == [number**2 for number in range(300)]


def test_threads_share_a_pool(pool: WorkerPool) -> None:
    found: list[int] = []

    def ask(begin: int) -> None:
        found.extend(pool.submit(targets.square, begin + n).result(LIMIT) for n in range(200))

    threads = [threading.Thread(target=ask, args=(begin,)) for begin in range(0, 1_000, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(found) == [number**2 for number in range(1_000)]


def test_an_event_loop_awaits_it(pool: WorkerPool) -> None:
    async def ask() -> list[int]:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(pool, targets.square, n) for n in range(20)))

    assert asyncio.run(ask()) == [n**2 for n in range(20)]


def test_an_error_says_where_it_was_raised(pool: WorkerPool) -> None:
    with pytest.raises(ValueError, match="far away") as caught:
        pool.submit(targets.fail, "far away").result(LIMIT)
    assert "targets.py" in str(caught.value.__cause__)
    assert "in fail" in str(caught.value.__cause__)


def test_an_error_that_cannot_be_unpickled_is_told(pool: WorkerPool) -> None:
    with pytest.raises(RemoteError, match="Peculiar: 1"):
        pool.submit(targets.fail_peculiarly).result(LIMIT)


def test_what_cannot_be_pickled_fails_where_it_is(pool: WorkerPool) -> None:
    with pytest.raises(TypeError, match="lock"):
        pool.submit(targets.tell, threading.Lock()).result(LIMIT)
    with pytest.raises((TypeError, pickle.PicklingError), match="lock"):
        pool.submit(targets.give_a_lock).result(LIMIT)
    assert pool.submit(targets.square, 2).result(LIMIT) == 4


@pytest.mark.parametrize("size", [0, 4_000, 65_000, 66_000, 300_000, 20_000_000])
def test_bytes_of_any_size_go_there_and_back(pool: WorkerPool, size: int) -> None:
    content = os.urandom(size)
    assert pool.submit(targets.tell, content).result(LIMIT) == content
    large = pool.submit(targets.mirror, pickle.PickleBuffer(bytearray(content))).result(LIMIT)
    assert bytes(large) == content


def test_many_large_tasks_at_once(pool: WorkerPool) -> None:
    contents = [os.urandom(100_000) for _ in range(50)]
    futures = [pool.submit(targets.tell, content) for content in contents]
    assert [future.result(LIMIT) for future in futures] == contents


def test_a_worker_that_changes_its_argument_changes_it_for_itself(pool: WorkerPool) -> None:
    content = bytearray(100_000)
    shared = pickle.PickleBuffer(content)
    filled: Any = targets.fill
    assert [pool.submit(filled, shared).result(LIMIT) for _ in range(4)] == [bytes(4)] * 4
    assert not any(content)


def test_a_task_that_runs_too_long_is_ended_with_its_worker(
    pool: WorkerPool, named_pipe: Callable[[str], str]
) -> None:
    began = named_pipe("began")
    future = pool.submit(targets.begin_and_hang, began, timeout=0.2)
    process = os.pidfd_open(int(read(began)))
    with pytest.raises(TaskTimeoutError, match=r"0\.2 s"):
        future.result(LIMIT)
    assert not_ended([future.worker or 0]) == []
    os.close(process)
    assert pool.submit(targets.square, 3).result(LIMIT) == 9


def test_its_time_begins_with_it(pool: WorkerPool, named_pipe: Callable[[str], str]) -> None:
    """One that waits for a worker for longer than it may run is not late."""
    began, go = [named_pipe(f"began{n}") for n in range(2)], [named_pipe(f"go{n}") for n in range(2)]
    busy = [pool.submit(targets.begin_and_await, began[n], go[n]) for n in range(2)]
    for path in began:
        read(path)
    late = pool.submit(targets.square, 5, timeout=20.0)
    assert not late.running()
    for path in go:
        targets.write(path, "")
    assert late.result(LIMIT) == 25
    wait(busy, LIMIT)


def test_a_death_fails_its_task_alone(pool: WorkerPool) -> None:
    before = [pool.submit(targets.square, number) for number in range(100)]
    victim = pool.submit(targets.die_of, 9)
    after = [pool.submit(targets.square, number) for number in range(100)]
    with pytest.raises(WorkerDiedError, match="SIGKILL") as caught:
        victim.result(LIMIT)
    assert (caught.value.signal, caught.value.exitcode) == ("SIGKILL", -9)
    assert caught.value.pid == victim.worker
    assert [future.result(LIMIT) for future in before + after] == [n**2 for n in range(100)] * 2


def test_a_death_tells_the_last_lines(pool: WorkerPool, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkerDiedError, match="status 3") as caught:
        pool.submit(targets.leave, 3).result(LIMIT)
    assert caught.value.errors == "about to leave"
    assert caught.value.exitcode == 3


def test_a_crash_tells_its_line(pool: WorkerPool) -> None:
    with pytest.raises(WorkerDiedError, match="SIGSEGV") as caught:
        pool.submit(targets.crash).result(LIMIT)
    assert "in crash" in caught.value.errors


def test_a_task_that_runs_can_be_killed(pool: WorkerPool, named_pipe: Callable[[str], str]) -> None:
    began = named_pipe("began")
    future = pool.submit(targets.begin_and_hang, began)
    read(began)
    assert not future.cancel()
    assert future.kill()
    with pytest.raises(TaskKilledError):
        future.result(LIMIT)
    assert not future.kill()


def test_a_task_that_waits_can_be_cancelled(pool: WorkerPool, named_pipe: Callable[[str], str]) -> None:
    began, go = [named_pipe(f"began{n}") for n in range(2)], [named_pipe(f"go{n}") for n in range(2)]
    busy = [pool.submit(targets.begin_and_await, began[n], go[n]) for n in range(2)]
    for path in began:
        read(path)
    waiting = pool.submit(targets.fail, "nobody does this")
    assert waiting.cancel()
    for path in go:
        targets.write(path, "")
    assert [future.result(LIMIT) == future.worker for future in busy] == [True, True]
    with pytest.raises(CancelledError):
        waiting.result(LIMIT)


def test_what_a_killed_task_has_started_ends_with_it(
    pool: WorkerPool, named_pipe: Callable[[str], str]
) -> None:
    began = named_pipe("began")
    future = pool.submit(targets.begin_family_and_hang, began)
    family = [int(word) for word in read(began).split()]
    assert future.kill()
    assert not_ended(family) == []


def test_what_a_dead_worker_has_started_ends_with_it(
    pool: WorkerPool, named_pipe: Callable[[str], str]
) -> None:
    began = named_pipe("began")
    future = pool.submit(targets.begin_family_and_hang, began)
    family = [int(word) for word in read(began).split()]
    os.kill(family[0], 9)
    with pytest.raises(WorkerDiedError):
        future.result(LIMIT)
    assert not_ended(family) == []


def test_a_long_task_holds_up_none_that_was_given_ahead(
    pool: WorkerPool, named_pipe: Callable[[str], str]
) -> None:
    """Short tasks are given out ahead; those behind a long one are taken back."""
    began, go = named_pipe("began"), named_pipe("go")
    for _ in pool.map(targets.square, range(500)):
        pass
    early = [pool.submit(targets.square, number) for number in range(200)]
    long = pool.submit(targets.begin_and_await, began, go)
    late = [pool.submit(targets.square, number) for number in range(200)]
    assert [future.result(LIMIT) for future in early + late] == [n**2 for n in range(200)] * 2
    read(began)
    assert not long.done()
    targets.write(go, "")
    assert long.result(LIMIT) == long.worker


def test_a_child_of_its_caller_cannot_use_it(pool: WorkerPool) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            pool.submit(targets.square, 2)
        except PoolError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert f"belongs to process {os.getpid()}" in stream.read()
    os.waitpid(child, 0)


def test_partial_functions_and_methods_are_tasks(pool: WorkerPool) -> None:
    assert pool.submit(partial(targets.add, other=4), 1).result(LIMIT) == 5
    assert pool.submit("a-b".split, "-").result(LIMIT) == ["a", "b"]
