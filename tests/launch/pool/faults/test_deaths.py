"""A worker that dies: its task fails and says how, the others go on, and another worker takes its place."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import PoolBrokenError, WorkerDiedError
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.leftovers import not_ended
from tests.launch.pool.faults.tasks import LIMIT

pytestmark = pytest.mark.once

Make = Callable[..., Any]


def test_the_task_of_a_killed_worker_fails_alone(pool: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    bystander = pool.submit(tasks.wait_for, str(go), str(tmp_path / "bystander"))
    beside = tasks.noted(tmp_path / "bystander")
    victim = pool.submit(tasks.wait_for_ever, str(tmp_path / "victim"))
    pid = tasks.noted(tmp_path / "victim")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(WorkerDiedError, match=rf"{pid}.*SIGKILL|SIGKILL.*{pid}") as raised:
        victim.result(LIMIT)
    assert (raised.value.pid, raised.value.exitcode, raised.value.signal) == (pid, -signal.SIGKILL, "SIGKILL")
    # The other worker is busy: who answers now has taken the dead one's place.
    assert pool.submit(tasks.process).result(LIMIT) not in {pid, beside}
    assert not bystander.done()
    go.touch()
    assert bystander.result(LIMIT) == beside


def test_an_idle_worker_that_was_killed_fails_nothing(pool: Any) -> None:
    for _ in range(5):
        pid = pool.submit(tasks.process).result(LIMIT)
        os.kill(pid, signal.SIGKILL)
        # The pool may not have heard of it yet, and gives it a task all the same.
        others = [pool.submit(tasks.process) for _ in range(4)]
        assert not_ended([pid]) == []
        for each in others:
            error = each.exception(LIMIT)
            # A task that the dead one was given cannot be told from one that it had begun with.
            assert error is None or (isinstance(error, WorkerDiedError) and error.pid == pid)


def test_tasks_that_waited_behind_a_victim_are_done(make: Make, tmp_path: Path) -> None:
    pool = make(1)
    for number in range(200):
        assert pool.submit(tasks.double, number).result(LIMIT) == 2 * number
    victim = pool.submit(tasks.wait_for_ever, str(tmp_path / "victim"))
    pid = tasks.noted(tmp_path / "victim")
    behind = [pool.submit(tasks.double, number) for number in range(100)]
    os.kill(pid, signal.SIGKILL)
    assert isinstance(victim.exception(LIMIT), WorkerDiedError)
    assert [each.result(LIMIT) for each in behind] == [2 * number for number in range(100)]


@pytest.mark.parametrize("status", [0, 3, 255])
def test_a_task_that_ends_its_process_says_with_what_status(pool: Any, status: int) -> None:
    with pytest.raises(WorkerDiedError, match=rf"\b{status}\b") as raised:
        pool.submit(tasks.leave, status).result(LIMIT)
    assert raised.value.exitcode == status
    assert raised.value.signal is None
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_a_segmentation_fault_brings_the_stack(pool: Any) -> None:
    with pytest.raises(WorkerDiedError, match="SIGSEGV") as raised:
        pool.submit(tasks.follow_null).result(LIMIT)
    assert raised.value.signal == "SIGSEGV"
    assert "Segmentation fault" in raised.value.errors
    assert "in follow_null" in raised.value.errors
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_an_abort_is_named(pool: Any) -> None:
    with pytest.raises(WorkerDiedError, match="SIGABRT"):
        pool.submit(os.abort).result(LIMIT)


def test_the_last_lines_that_it_wrote_are_told(pool: Any) -> None:
    many = "".join(f"line {number}\n" for number in range(10_000))
    with pytest.raises(WorkerDiedError) as raised:
        pool.submit(tasks.say_and_leave, many).result(LIMIT)
    assert raised.value.errors.rstrip().endswith("line 9999")
    assert "line 1\n" not in raised.value.errors


def test_what_an_earlier_worker_wrote_is_not_told_of_a_later_one(make: Make) -> None:
    pool = make(1)
    for text in ("first", "second"):
        with pytest.raises(WorkerDiedError) as raised:
            pool.submit(tasks.say_and_leave, f"{text}\n").result(LIMIT)
        assert raised.value.errors.strip() == text


def test_bytes_that_are_no_text_do_not_hide_the_death(pool: Any) -> None:
    with pytest.raises(WorkerDiedError) as raised:
        pool.submit(tasks.say_bytes_and_leave, b"\xff\xfe broken \x00 words\n").result(LIMIT)
    assert "words" in raised.value.errors


@pytest.mark.parametrize("name", ["raise_exit", "raise_interrupt"])
def test_an_exception_that_ends_scripts_is_the_task_s(pool: Any, name: str) -> None:
    before = {pool.submit(tasks.process).result(LIMIT) for _ in range(10)}
    error = pool.submit(getattr(tasks, name)).exception(LIMIT)
    assert isinstance(error, (SystemExit, KeyboardInterrupt))
    assert pool.submit(tasks.process).result(LIMIT) in before


def test_what_a_dead_worker_had_started_is_gone(pool: Any, tmp_path: Path) -> None:
    victim = pool.submit(tasks.fork_and_leave, str(tmp_path / "task"))
    with pytest.raises(WorkerDiedError, match=r"\b7\b"):
        victim.result(LIMIT)
    left = [int((tmp_path / name).read_text()) for name in ("task.child", "task.grandchild")]
    assert not_ended(left) == []


def test_what_a_killed_worker_had_started_is_gone(pool: Any, tmp_path: Path) -> None:
    victim = pool.submit(tasks.fork_and_wait, str(tmp_path / "task"))
    pids = [tasks.noted(tmp_path / name) for name in ("task", "task.child", "task.grandchild")]
    os.kill(pids[0], signal.SIGKILL)
    assert isinstance(victim.exception(LIMIT), WorkerDiedError)
    assert not_ended(pids) == []


def test_a_child_of_a_worker_that_comes_back_from_the_task_settles_nothing(make: Make) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    assert pool.submit(tasks.child_that_returns).result(LIMIT) == pid
    assert [pool.submit(tasks.double, number).result(LIMIT) for number in range(50)] == list(range(0, 100, 2))


def test_a_worker_that_has_closed_its_descriptors_is_replaced(make: Make) -> None:
    pool = make(1)
    victim = pool.submit(tasks.close_everything)
    error = victim.exception(LIMIT)
    assert error is None or isinstance(error, WorkerDiedError)
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_a_worker_without_standard_streams_goes_on(make: Make) -> None:
    pool = make(1)
    assert pool.submit(tasks.close_standard_streams).result(LIMIT) == "closed"
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8
    large = pool.submit(tasks.zeros, 3_000_000).result(LIMIT)
    assert len(large) == 3_000_000


def test_a_task_that_a_caller_gives_to_a_worker_which_has_just_died(make: Make) -> None:
    """It never came to that worker, and goes to the one that has taken its place and has nothing to do."""
    pool = make(1).wait()
    offered = pool._dispatcher._assigned.idle
    (dead,) = offered
    os.kill(dead.pid, signal.SIGKILL)
    until = time.monotonic() + LIMIT
    while dead in offered or not offered:
        assert time.monotonic() < until
        time.sleep(0.005)
    # So a caller sees it that looked a moment ago.
    offered[dead] = None
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_a_thread_that_stays_does_not_keep_the_pool(make: Make) -> None:
    pool = make(1)
    assert pool.submit(tasks.start_thread_that_stays).result(LIMIT) == "started"
    pid = pool.submit(tasks.process).result(LIMIT)
    pool.shutdown()
    assert not_ended([pid]) == []


def test_a_task_is_never_done_twice(make: Make, tmp_path: Path) -> None:
    pool = make(2)
    log = tmp_path / "log"
    for status in range(5):
        assert isinstance(
            pool.submit(tasks.append_and_leave, str(log), status).exception(LIMIT), WorkerDiedError
        )
    assert log.read_text().split() == ["0", "1", "2", "3", "4"]


def test_a_task_is_done_again_only_when_asked(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pool = make(1, retries=2)
    victim = pool.submit(tasks.append_and_leave, str(log), 5)
    assert isinstance(victim.exception(LIMIT), WorkerDiedError)
    assert log.read_text().split() == ["5", "5", "5"]
    assert len(victim.attempts) == 2


def test_a_fault_of_the_pool_itself_leaves_no_task_unsettled(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pool = make(2)
    going = [pool.submit(tasks.wait_for_ever, str(tmp_path / f"task{number}")) for number in range(2)]
    pids = [tasks.noted(tmp_path / f"task{number}") for number in range(2)]
    waiting = [pool.submit(tasks.double, number) for number in range(3)]

    def fail(*_: object) -> None:
        raise KeyError("meant")

    monkeypatch.setattr(pool._dispatcher, "died", fail)
    os.kill(pids[0], signal.SIGKILL)
    for each in (*going, *waiting):
        with pytest.raises(PoolBrokenError, match="KeyError"):
            each.result(LIMIT)
    pool.shutdown()
    assert not_ended(pids) == []
