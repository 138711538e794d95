"""Workers that cannot be started: the pool says why, and nothing waits for them for ever."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import PoolBrokenError
from coldfork.model.errors import ColdforkError, UsageError
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.tasks import LIMIT

pytestmark = pytest.mark.once

Make = Callable[..., Any]
Module = Callable[[str, str], str]

THREAD = """
    import threading

    def tick():
        threading.Event().wait()

    threading.Thread(target=tick, name="ticker", daemon=True).start()
"""
DEVICE = """
    import ctypes

    from coldfork import virtual

    virtual.install(*virtual.parse("h100"))


    def count():
        return ctypes.CDLL("libcuda.so.1").cuInit(0)


    DEVICES = count()
"""
FAULTY = {
    "raises": ("raise RuntimeError('no such file')", "RuntimeError: no such file"),
    "wakes": (DEVICE, "cuda"),
    "starts a thread": (THREAD, "ticker"),
    "leaves": ("import os\nos._exit(3)", "3"),
    "cannot be parsed": ("def begin(:\n    pass", "SyntaxError"),
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write a module that the server finds."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def write(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return name

    return write


@pytest.mark.parametrize("fault", FAULTY)
def test_a_module_that_cannot_be_preloaded_is_named(make: Make, module: Module, fault: str) -> None:
    if fault == "wakes" and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")
    text, words = FAULTY[fault]
    name = module(f"faulty_{list(FAULTY).index(fault)}", text)
    pool = make(2, preload=["json", name])
    future = pool.submit(tasks.double, 4)
    error = future.exception(LIMIT)
    assert isinstance(error, PoolBrokenError)
    assert name in str(error)
    assert words in str(error)
    with pytest.raises(PoolBrokenError, match=name):
        pool.submit(tasks.double, 4)
    assert not pool.health().ok
    assert "failed to start" in str(pool.health())
    assert name in pool.health().last_failure


def test_a_module_that_is_not_there(make: Make) -> None:
    with pytest.raises(UsageError, match="preload: there is no module 'no_such_module' here"):
        make(2, preload=["json", "no_such_module"])
    # It may be where the workers look for it, and this program does not.
    error = make(2, preload=["no_such_module"], env={"PYTHONPATH": "/nowhere"}).submit(tasks.double, 4)
    assert "no_such_module" in str(error.exception(LIMIT))
    assert isinstance(error.exception(), PoolBrokenError)


def test_an_initializer_that_raises(make: Make) -> None:
    pool = make(2, initializer=tasks.fail_in_initializer, initargs=("no licence",))
    futures = [pool.submit(tasks.double, number) for number in range(10)]
    for each in futures:
        error = each.exception(LIMIT)
        assert isinstance(error, PoolBrokenError)
        assert "ValueError: no licence" in str(error)
    assert "no licence" in str(pool.health())
    assert pool.health().warm == 0


def test_an_initializer_that_ends_its_worker(make: Make) -> None:
    pool = make(2, initializer=tasks.leave, initargs=(3,))
    error = pool.submit(tasks.double, 4).exception(LIMIT)
    assert isinstance(error, PoolBrokenError)
    assert "3" in str(error)


def test_an_initializer_that_cannot_be_pickled_is_refused(make: Make) -> None:
    with pytest.raises((TypeError, ColdforkError), match="lock"):
        make(2, initializer=tasks.give_back, initargs=(tasks.lock(),)).submit(tasks.double, 4).result(LIMIT)


def test_an_initializer_is_called_in_every_worker_once(make: Make, tmp_path: Path) -> None:
    pool = make(2, initializer=tasks.append, initargs=(str(tmp_path / "log"), "began"))
    pids: set[int] = set()
    until = time.monotonic() + LIMIT
    while len(pids) < 2:
        assert time.monotonic() < until
        pids |= {each.result(LIMIT) for each in [pool.submit(tasks.process_after, 0.05) for _ in range(4)]}
    pool.submit(tasks.leave, 1).exception(LIMIT)
    pool.submit(tasks.process).result(LIMIT)
    pool.shutdown()
    assert 2 <= (tmp_path / "log").read_text().count("began") <= 3


def test_an_initializer_that_hangs_does_not_keep_a_pool_from_ending(make: Make, tmp_path: Path) -> None:
    pool = make(1, initializer=tasks.wait_for_ever, initargs=(str(tmp_path / "task"),))
    future = pool.submit(tasks.double, 4)
    tasks.noted(tmp_path / "task")
    assert not future.done()
    assert pool.health().warm == 0
    pool.shutdown(wait=True, cancel_futures=True)
    assert future.cancelled()


def test_too_many_or_too_few_of_something_is_told_at_once() -> None:
    import coldfork

    for options in (
        {"workers": 0},
        {"workers": -1},
        {"workers": 2, "timeout": 0},
        {"workers": 2, "max_tasks": 0},
        {"workers": 2, "max_memory": 0},
        {"workers": 2, "max_queue": 0},
        {"workers": 2, "retries": -1},
        {"workers": 2, "backend": "nowhere"},
        {"workers": 2, "preload": "json"},
        {"workers": 2, "initializer": 3},
    ):
        with pytest.raises((ValueError, TypeError, ColdforkError)):
            coldfork.WorkerPool(**options).shutdown()
