"""A value that cannot be handed over fails its own task with the reason, and a large one arrives."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from coldfork.launch.pool.errors import RemoteError
from tests.amounts import LONG
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.conftest import Script
from tests.launch.pool.faults.tasks import LIMIT

Make = Callable[..., Any]


def still_works(pool: Any) -> bool:
    answers = [pool.submit(tasks.double, number).result(LIMIT) for number in range(5)]
    return answers == [0, 2, 4, 6, 8]


def test_an_argument_that_cannot_be_pickled(make: Make) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    # concurrent.futures tells it by the future, and so may this; in either case no task is lost.
    with pytest.raises((TypeError, RemoteError), match="lock"):
        pool.submit(tasks.give_back, threading.Lock()).result(LIMIT)
    assert pool.submit(tasks.process).result(LIMIT) == pid
    assert still_works(pool)


def test_an_argument_that_cannot_be_unpickled(make: Make) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    for argument, words in ((tasks.OneWay(), "not here"), (tasks.OnlyHere(), "not there")):
        error = pool.submit(tasks.give_back, argument).exception(LIMIT)
        assert isinstance(error, Exception)
        assert words in "".join(traceback.format_exception(error))
    assert pool.submit(tasks.process).result(LIMIT) == pid


def test_a_result_that_cannot_be_pickled(make: Make) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    error = pool.submit(tasks.lock).exception(LIMIT)
    assert isinstance(error, (TypeError, RemoteError))
    assert "lock" in str(error)
    assert pool.submit(tasks.process).result(LIMIT) == pid


@pytest.mark.parametrize("name", ["give_one_way", "give_only_here"])
def test_a_result_that_cannot_be_unpickled(make: Make, name: str) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    error = pool.submit(getattr(tasks, name)).exception(LIMIT)
    assert isinstance(error, Exception)
    assert "not " in "".join(traceback.format_exception(error))
    assert pool.submit(tasks.process).result(LIMIT) == pid


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raise_unpicklable", "UnpicklableError: has a lock"),
        ("raise_one_way", "OneWayError: one and two"),
        ("raise_only_here", "OnlyHereError"),
    ],
)
def test_an_exception_that_cannot_be_handed_over_is_told(make: Make, name: str, words: str) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    error = pool.submit(getattr(tasks, name)).exception(LIMIT)
    assert isinstance(error, Exception)
    told = "".join(traceback.format_exception(error))
    assert words in told
    assert f"in {name}" in told
    assert pool.submit(tasks.process).result(LIMIT) == pid


def test_the_traceback_of_the_worker_is_the_cause(pool: Any) -> None:
    error = pool.submit(tasks.fail_in_initializer, "meant").exception(LIMIT)
    assert isinstance(error, ValueError)
    assert "in fail_in_initializer" in "".join(traceback.format_exception(error))


def test_values_of_every_size_around_where_the_way_changes(pool: Any) -> None:
    for size in (0, 1, 4095, 65_400, 65_535, 65_536, 65_537, 1_048_575, 1_048_577, 5_000_001):
        sent = os.urandom(size)
        assert pool.submit(tasks.give_back, sent).result(LIMIT) == sent
        assert pool.submit(tasks.give_back, bytearray(sent)).result(LIMIT) == sent


def test_a_huge_result(pool: Any) -> None:
    size = 1 << 30 if LONG else 1 << 26
    assert len(pool.submit(tasks.zeros, size).result(10 * LIMIT)) == size
    assert still_works(pool)


def test_a_changed_argument_is_the_task_s_own(make: Make) -> None:
    pool = make(2)
    sent = bytearray(3_000_000)
    changed = [pool.submit(tasks.fill, sent, value) for value in (1, 2)]
    assert [bytes(each.result(LIMIT)) for each in changed] == [b"\1" * 3_000_000, b"\2" * 3_000_000]
    assert not any(sent[:1000])


def test_what_was_changed_after_submit_was_sent_as_it_was(make: Make) -> None:
    pool = make(1)
    sent = bytearray(b"a" * 3_000_000)
    futures = [pool.submit(tasks.give_back, sent) for _ in range(5)]
    sent[:] = b"b" * len(sent)
    assert {bytes(each.result(LIMIT)[:1]) for each in futures} == {b"a"}


FEW_DESCRIPTORS = """
    import resource

    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        with coldfork.WorkerPool(2) as pool:
            large = [pool.submit(tasks.give_back, bytes(200_000)) for _ in range(500)]
            assert [len(each.result(60)) for each in large] == [200_000] * 500
            print("all came back", flush=True)
"""


def test_more_large_arguments_wait_than_there_are_descriptors(script: Script) -> None:
    program = script(FEW_DESCRIPTORS)
    output, errors = program.communicate(timeout=2 * LIMIT)
    assert (output, program.returncode) == ("all came back\n", 0), errors
