"""Tasks of all kinds while workers are killed at random: each is settled once, is done once at most, and
nothing is left."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import TaskKilledError, TaskTimeoutError, WorkerDiedError
from tests.amounts import LONG, examples
from tests.launch.pool.faults import tasks

pytestmark = pytest.mark.once

Make = Callable[..., Any]
TASKS = examples(200)
SEEDS = [random.SystemRandom().randrange(10**9)] if LONG else [1, 2, 3]
WORKERS = 3


class Drawn:
    """One task, what it may end with, and how often it was settled."""

    def __init__(
        self, pool: Any, draw: random.Random, number: int, log: str, done: threading.Semaphore | None = None
    ) -> None:
        """`done` counts the tasks that have brought something about."""
        kind = draw.choices(["value", "large", "raise", "leave", "hang", "die"], [60, 4, 10, 2, 3, 2])[0]
        self.kind = kind
        self.number = number
        self.settled = 0
        self._done = done
        self.expected: Any = number * 2
        if kind == "large":
            self.expected = number % 251
            self.future = pool.submit(tasks.log_and_give, log, number, draw.randrange(3_000_000))
        elif kind == "hang":
            self.future = pool.submit(tasks.log_and_hang, log, number, timeout=draw.choice([0.02, 0.1, 0.3]))
        else:
            self.future = pool.submit(tasks.log_and, kind, log, number, timeout=draw.choice([None, 120.0]))
        self.future.add_done_callback(self._settle)

    def _settle(self, future: Any) -> None:
        self.settled += 1
        if self._done is not None and not future.cancelled() and future.exception() is None:
            self._done.release()

    def outcome(self) -> str:
        """How it has ended, if that is how it may have."""
        try:
            found = self.future.result(0)
        except CancelledError:
            return "cancelled"
        except ValueError:
            assert self.kind == "raise"
            assert str(self.future.exception(0)) == f"meant {self.number}"
            return "raised"
        except TaskTimeoutError:
            assert self.kind == "hang"
            return "timeout"
        except TaskKilledError:
            return "killed"
        except WorkerDiedError:
            assert self.future.exception(0).signal in {"SIGKILL", "SIGSEGV", None}
            return "died"
        if self.kind == "large":
            assert found[:1] in {b"", bytes([self.expected])}
        else:
            assert (self.kind, found) == ("value", self.expected)
        return "value"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_task_is_settled_once_while_workers_are_killed(make: Make, tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}, {TASKS} tasks")
    draw = random.Random(seed)
    pool = make(WORKERS)
    log = str(tmp_path / "log")
    over = threading.Event()
    done = threading.Semaphore(0)
    killer = threading.Thread(target=_kill_workers, args=(pool, random.Random(seed), done, over))
    killer.start()
    drawn = []
    try:
        for number in range(TASKS):
            drawn.append(Drawn(pool, draw, number, log, done))
            victim = draw.choice(drawn[-20:])
            fate = draw.random()
            if fate < 0.02:
                victim.future.kill()
            elif fate < 0.05:
                victim.future.cancel()
        _, unsettled = wait([each.future for each in drawn], tasks.LIMIT + TASKS / 10)
        assert not unsettled, f"{len(unsettled)} were never settled; {pool.health()}"
    finally:
        over.set()
        killer.join()
    outcomes = Counter(each.outcome() for each in drawn)
    print(dict(outcomes), pool.health())
    pool.shutdown()
    assert {each.settled for each in drawn} == {1}
    _require_done_once(drawn, Path(log))
    assert outcomes["value"] > TASKS / 4
    assert outcomes["died"] > 0


def test_every_task_is_settled_though_the_pool_is_shut_down_among_them(make: Make, tmp_path: Path) -> None:
    for turn in range(6):
        draw = random.Random(turn)
        pool = make(WORKERS)
        log = str(tmp_path / f"log{turn}")
        drawn = [Drawn(pool, draw, number, log) for number in range(60)]
        for pid in pool.health().pids[: turn % 3]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        pool.shutdown(wait=True, cancel_futures=turn % 2 == 0)
        outcomes = [each.outcome() for each in drawn]
        assert {each.settled for each in drawn} == {1}, outcomes
        _require_done_once(drawn, Path(log))


def test_threads_submit_while_another_shuts_down(make: Make) -> None:
    for _ in range(5):
        pool = make(2)
        futures: list[Any] = []

        def submit_until_refused(pool: Any = pool, futures: list[Any] = futures) -> None:
            with suppress(RuntimeError):
                while True:
                    futures.append(pool.submit(tasks.double, 3))

        threads = [threading.Thread(target=submit_until_refused) for _ in range(3)]
        for thread in threads:
            thread.start()
        while len(futures) < 50:
            pool.submit(tasks.double, 1).result(tasks.LIMIT)
        pool.shutdown(wait=True)
        for thread in threads:
            thread.join()
        assert {each.result(0) for each in futures} == {6}


def _kill_workers(pool: Any, draw: random.Random, done: threading.Semaphore, over: threading.Event) -> None:
    """Kill one after every few tasks that were done, however long a busy machine takes."""
    while not over.is_set():
        for _ in range(draw.randrange(1, 6)):
            while not (done.acquire(timeout=0.05) or over.is_set()):
                pass
        pids = pool.health().pids
        if pids:
            with suppress(ProcessLookupError):
                os.kill(draw.choice(pids), draw.choice([signal.SIGKILL, signal.SIGSEGV]))


def _require_done_once(drawn: list[Drawn], log: Path) -> None:
    begun = Counter(map(int, log.read_text(encoding="ascii").split())) if log.exists() else Counter[int]()
    assert set(begun.values()) <= {1}, [number for number, times in begun.items() if times > 1]
    for each in drawn:
        if each.outcome() in {"value", "raised"}:
            assert begun[each.number] == 1
