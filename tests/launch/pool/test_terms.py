"""Options of a pool: by the names that other executors have, and refused where they mean nothing."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import WorkerDiedError
from coldfork.launch.pool.pool import WorkerPool
from coldfork.model.errors import UsageError
from tests.launch.pool import targets
from tests.launch.pool.conftest import LIMIT
from tests.launch.pool.faults.tasks import say_and_leave


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": "5"}, "timeout has to be a number of seconds above 0, not '5'"),
        ({"timeout": math.nan}, "timeout has to be a number of seconds"),
        ({"timeout": True}, "timeout has to be a number of seconds"),
        ({"retries": 1.5}, "retries has to be a whole number, 0 or more, not 1.5"),
        ({"retries": -1}, "retries has to be a whole number, 0 or more"),
        ({"workers": 2.0}, "workers has to be a whole number, 1 or more"),
        ({"workers": 2, "max_workers": 2}, "give workers or max_workers, not both"),
        (
            {"mp_context": "spawn"},
            "leave out mp_context: this pool forks its workers from a clean server",
        ),
        ({"env": {"A": 1}}, "env takes texts, or None to unset a variable, not 'A': 1"),
        ({"env": {"A=B": "1"}}, "'A=B': '1' cannot be in an environment"),
        ({"preload": ["json", "nowhere.at.all"]}, "preload: there is no module 'nowhere' here"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_means_nothing_is_refused_before_anything_is_started(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        WorkerPool(**options)


@pytest.mark.parametrize("number", [0, -1])
def test_fewer_than_one_are_refused_as_by_every_executor(number: int) -> None:
    with pytest.raises(ValueError, match="max_workers must be greater than 0"):
        WorkerPool(max_workers=number)


def test_it_has_the_names_of_other_executors() -> None:
    with WorkerPool(max_workers=2, mp_context=None, timeout=math.inf) as pool:
        assert pool._max_workers == 2
        assert pool.submit(targets.square, 3).result(LIMIT) == 9


def timed(timeout: float) -> float:
    """Give back the timeout that it is handed."""
    return timeout


def test_a_timeout_that_two_could_mean_is_refused(pool: WorkerPool) -> None:
    with pytest.raises(UsageError, match=r"submit functools.partial\(timed, timeout=...\)"):
        pool.submit(timed, timeout=5)
    assert pool.submit(timed, 5).result(LIMIT) == 5
    assert pool.submit(functools.partial(timed, timeout=4), timeout=LIMIT).result(LIMIT) == 4


def test_the_last_lines_of_a_worker_are_told_without_their_secrets() -> None:
    with WorkerPool(1) as pool:
        error = pool.submit(say_and_leave, "API_KEY=sk-1234567890abcdef\nit ends").exception(LIMIT)
    assert isinstance(error, WorkerDiedError)
    assert error.errors == "API_KEY=<redacted>\nit ends"
    assert "sk-1234567890abcdef" not in str(error)


def test_nobody_else_may_read_what_workers_have_written(tmp_path: Path) -> None:
    with WorkerPool(1, log_dir=tmp_path) as pool:
        pool.submit(os.write, 2, b"a word\n").result(LIMIT)
    (log,) = tmp_path.iterdir()
    assert log.read_bytes() == b"a word\n"
    assert log.stat().st_mode & 0o777 == 0o600
