"""A cap on what a worker and all it has started may hold."""

from __future__ import annotations

import time

import pytest

from coldfork.launch.pool.errors import MemoryCapError, PoolBrokenError
from coldfork.launch.pool.pool import WorkerPool
from coldfork.launch.supervisor.limits import parse_size
from tests.launch.pool import targets
from tests.launch.pool.conftest import LIMIT

pytestmark = pytest.mark.once


def test_who_holds_too_much_is_killed_and_replaced() -> None:
    with WorkerPool(2, max_memory="256 MiB") as pool:
        victim = pool.submit(targets.hold, parse_size("1 GiB"))
        with pytest.raises(MemoryCapError, match=r"killed at \d+(\.\d)? MiB of 256 MiB of memory") as caught:
            victim.result(LIMIT)
        assert caught.value.signal == "SIGKILL"
        assert pool.submit(targets.square, 4).result(LIMIT) == 16


def test_a_cap_that_no_worker_keeps_breaks_the_pool_and_says_so() -> None:
    with WorkerPool(1, max_memory=10) as pool:
        while not pool.health().broken:
            time.sleep(0.01)
        with pytest.raises(
            PoolBrokenError, match="max_memory=10 bytes is too low for this pool: an idle worker holds"
        ):
            pool.submit(targets.square, 4)


def test_what_a_worker_has_started_counts() -> None:
    with WorkerPool(1, max_memory="256 MiB") as pool, pytest.raises(MemoryCapError):
        pool.submit(targets.hold_in_children, parse_size("100 MiB"), 4).result(LIMIT)


def test_who_holds_much_is_replaced_between_tasks() -> None:
    with WorkerPool(1, max_memory="400 MiB") as pool:
        first = pool.submit(targets.keep, parse_size("320 MiB")).result(LIMIT)
        pids = {first}
        while len(pids) == 1:
            pids.add(pool.submit(targets.tell_pid, None).result(LIMIT))
        assert pool.health().counts.recycled == 1
