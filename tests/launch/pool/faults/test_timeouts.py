"""A task that runs too long is ended with all that it started, and its worker is replaced."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import PoolBrokenError, TaskKilledError, TaskTimeoutError, WorkerDiedError
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.leftovers import not_ended
from tests.launch.pool.faults.tasks import LIMIT

pytestmark = pytest.mark.once

Make = Callable[..., Any]

HANGS = ["wait_for_ever", "compute_for_ever", "wait_without_python", "ignore_signals", "stop_itself"]


@pytest.mark.parametrize("name", HANGS)
def test_what_runs_too_long_is_killed_whatever_it_does(pool: Any, tmp_path: Path, name: str) -> None:
    victim = pool.submit(getattr(tasks, name), str(tmp_path / "task"), timeout=0.3)
    with pytest.raises(TaskTimeoutError, match=r"0\.3"):
        victim.result(LIMIT)
    # A slow machine may not have come to the task itself.
    pids = [int(path.read_text()) for path in tmp_path.glob("task")]
    assert not_ended(pids) == []
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_it_is_a_timeout_as_python_has_it(pool: Any, tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        pool.submit(tasks.wait_for_ever, str(tmp_path / "task"), timeout=0.1).result(LIMIT)


def test_the_caller_s_own_timeout_ends_nothing(pool: Any, tmp_path: Path) -> None:
    going = pool.submit(tasks.wait_for, str(tmp_path / "go"), str(tmp_path / "begun"))
    with pytest.raises(TimeoutError) as raised:
        going.result(0.05)
    assert not isinstance(raised.value, TaskTimeoutError)
    (tmp_path / "go").touch()
    assert going.result(LIMIT) == tasks.noted(tmp_path / "begun")


def test_the_time_in_the_queue_does_not_count(make: Make, tmp_path: Path) -> None:
    pool = make(1)
    first = pool.submit(tasks.wait_for, str(tmp_path / "go"), str(tmp_path / "begun"))
    tasks.noted(tmp_path / "begun")
    waiting = [pool.submit(tasks.double, number, timeout=5.0) for number in range(3)]
    behind = time.monotonic() + 5.5
    while time.monotonic() < behind:
        time.sleep(0.1)
    (tmp_path / "go").touch()
    assert first.result(LIMIT) > 0
    assert [each.result(LIMIT) for each in waiting] == [0, 2, 4]


def test_the_pool_s_timeout_is_each_task_s_unless_it_has_its_own(make: Make, tmp_path: Path) -> None:
    pool = make(1, timeout=0.3)
    assert pool.submit(tasks.double, 4, timeout=LIMIT).result(LIMIT) == 8
    with pytest.raises(TaskTimeoutError):
        pool.submit(tasks.wait_for_ever, str(tmp_path / "one")).result(LIMIT)
    with pytest.raises(TaskTimeoutError):
        list(pool.map(tasks.wait_for_ever, [str(tmp_path / "two")]))


def test_what_it_has_started_is_gone_as_well(pool: Any, tmp_path: Path) -> None:
    # Ended by hand, so that its children are there for certain.
    victim = pool.submit(tasks.fork_and_wait, str(tmp_path / "task"), timeout=LIMIT)
    pids = [tasks.noted(tmp_path / name) for name in ("task", "task.child", "task.grandchild")]
    assert victim.kill()
    with pytest.raises(TaskKilledError):
        victim.result(LIMIT)
    assert not_ended(pids) == []
    assert not victim.kill()


def test_a_stopped_worker_s_task_is_ended(pool: Any, tmp_path: Path) -> None:
    victim = pool.submit(tasks.wait_for_ever, str(tmp_path / "task"), timeout=LIMIT)
    pid = tasks.noted(tmp_path / "task")
    os.kill(pid, signal.SIGSTOP)
    assert victim.kill()
    assert isinstance(victim.exception(LIMIT), TaskKilledError)
    assert not_ended([pid]) == []


def test_one_that_waits_can_be_cancelled_and_is_never_begun(make: Make, tmp_path: Path) -> None:
    pool = make(1)
    first = pool.submit(tasks.wait_for, str(tmp_path / "go"), str(tmp_path / "begun"))
    tasks.noted(tmp_path / "begun")
    waiting = [pool.submit(tasks.note, str(tmp_path / f"task{number}")) for number in range(6)]
    assert [each.cancel() for each in waiting[::2]] == [True] * 3
    assert waiting[1].kill()
    (tmp_path / "go").touch()
    first.result(LIMIT)
    for number in (3, 5):
        waiting[number].result(LIMIT)
    assert sorted(path.name for path in tmp_path.glob("task*")) == ["task3", "task5"]


def test_the_others_of_a_worker_that_was_given_several_are_done(make: Make, tmp_path: Path) -> None:
    pool = make(1)
    for number in range(200):
        assert pool.submit(tasks.double, number).result(LIMIT) == 2 * number
    # By now it is known that tasks are quick, and several are given out at once.
    hang = pool.submit(tasks.wait_for_ever, str(tmp_path / "task"), timeout=0.3)
    behind = [pool.submit(tasks.double, number) for number in range(40)]
    timed = [pool.submit(tasks.double, number, timeout=LIMIT) for number in range(4)]
    assert isinstance(hang.exception(LIMIT), TaskTimeoutError)
    assert [each.result(LIMIT) for each in behind] == [2 * number for number in range(40)]
    assert [each.result(LIMIT) for each in timed] == [0, 2, 4, 6]


def test_many_deadlines_at_once(make: Make, tmp_path: Path) -> None:
    pool = make(2)
    victims = [
        pool.submit(tasks.wait_for_ever, str(tmp_path / f"task{number}"), timeout=0.05 * (6 - number))
        for number in range(6)
    ]
    assert all(isinstance(each.exception(LIMIT), TaskTimeoutError) for each in victims)
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_an_answer_just_before_the_deadline_is_kept_and_one_after_it_is_not(make: Make) -> None:
    pool = make(2)
    ends = [pool.submit(time.sleep, 0.05, timeout=0.05) for _ in range(20)]
    kinds = {type(each.exception(LIMIT)) for each in ends}
    assert kinds <= {type(None), TaskTimeoutError}
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_a_pool_that_is_shut_down_in_a_hurry_keeps_what_runs(make: Make, tmp_path: Path) -> None:
    pool = make(1)
    going = pool.submit(tasks.wait_for, str(tmp_path / "go"), str(tmp_path / "begun"))
    tasks.noted(tmp_path / "begun")
    waiting = [pool.submit(tasks.double, number) for number in range(3)]
    pool.shutdown(wait=False, cancel_futures=True)
    assert all(each.cancelled() for each in waiting)
    (tmp_path / "go").touch()
    assert going.result(LIMIT) > 0
    with pytest.raises(RuntimeError):
        pool.submit(tasks.double, 4)


def test_a_deadline_holds_after_shutdown_too(make: Make, tmp_path: Path) -> None:
    pool = make(1)
    victim = pool.submit(tasks.wait_for_ever, str(tmp_path / "task"), timeout=0.5)
    pool.shutdown(wait=True)
    error = victim.exception(0)
    assert isinstance(error, TaskTimeoutError)
    assert not isinstance(error, (PoolBrokenError, WorkerDiedError))
