"""A program that uses a worker pool as any other does: pool_ray_same.py BACKEND"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

import coldfork

LIMIT = 120.0
FACTOR = 3


@dataclass(frozen=True)
class Point:
    """A class of the program itself."""

    x: int
    y: int


class TroubleError(Exception):
    """An exception of the program itself, which does not pickle by itself."""

    def __init__(self, one: int, *, other: int) -> None:
        super().__init__(one)
        self.other = other

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(TroubleError, other=self.other), self.args


def times(value: int) -> int:
    """Uses a global of the program."""
    return FACTOR * value


def mirrored(point: Point) -> Point:
    """Takes and returns an object of the program."""
    return Point(point.y, point.x)


def fail(other: int) -> NoReturn:
    """Raises an exception of the program."""
    raise TroubleError(1, other=other)


def doubled(array: Any) -> Any:
    """Changes what it was given, and returns it."""
    array *= 2
    return array


def nested(backend: str) -> int:
    """Has a pool of its own."""
    with coldfork.WorkerPool(1, backend=backend) as pool:
        return int(pool.submit(times, 5).result(LIMIT))


def setting() -> str | None:
    """Return what the initializer left in the worker, and what the pool put into its environment."""
    return f"{getattr(sys, 'prepared', None)} {os.environ.get('POOL_SETTING')}"


def prepare(word: str) -> None:
    """Called in each worker."""
    sys.prepared = word  # type: ignore[attr-defined]


def said(call: Callable[[], Any]) -> str:
    """Return the result of a call, without what differs between two runs."""
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}"


async def streamed(pool: coldfork.WorkerPool) -> list[int]:
    """The face for asyncio."""
    return [await pool.arun(times, 1), *[value async for value in pool.astream(times, range(4))]]


def main(backend: str) -> None:
    """Everything that a pool is asked in ordinary use."""
    with coldfork.WorkerPool(
        2, ["json"], backend=backend, env={"POOL_SETTING": "set"}, initializer=prepare, initargs=("here",)
    ) as pool:
        print("a function:", pool.submit(times, 4).result(LIMIT))
        print("map:", list(pool.map(times, range(5))), list(pool.map(times, range(5), chunksize=2)))
        print("a lambda:", pool.submit(lambda value: value + FACTOR, 1).result(LIMIT))
        back = pool.submit(mirrored, Point(1, 2)).result(LIMIT)
        print("an object:", back, type(back) is Point)
        error = pool.submit(fail, 7).exception(LIMIT)
        assert isinstance(error, TroubleError)
        print("an exception:", repr(error), error.other, "in fail" in str(error.__cause__))
        print("exit:", said(lambda: pool.submit(sys.exit, 3).exception(LIMIT)))
        print("prepared:", pool.submit(setting).result(LIMIT))
        array = np.ones(6_000_000)
        twice = pool.submit(doubled, array).result(LIMIT)
        print("50 MB:", float(twice.sum()), float(array.sum()), twice.flags.writeable)
        anything: Any = times
        print(
            "an argument that cannot be pickled:",
            said(lambda: pool.submit(anything, threading.Lock()).result()),
        )
        print("a result that cannot be:", said(lambda: pool.submit(threading.Lock).result(LIMIT)))
        print("in the main thread:", pool.submit(lambda: threading.current_thread().name).result(LIMIT))
        print("os._exit:", said(lambda: pool.submit(os._exit, 3).result(LIMIT)))
        print("a timeout:", said(lambda: pool.submit(time.sleep, 600, timeout=0.5).result(LIMIT)))
        future = pool.submit(time.sleep, 600)
        while not future.running():
            time.sleep(0.01)
        print("killed:", future.kill(), said(lambda: future.result(LIMIT)))
        print("healed:", pool.wait(timeout=LIMIT).health())
        print("asyncio:", asyncio.run(streamed(pool)))
        print("a pool in a task:", pool.submit(nested, backend).result(LIMIT))
        counts = pool.health().counts
        print("done", counts.done, "of", counts.submitted, dict(counts.failures), "died", counts.died)
    print("after the end:", said(lambda: pool.submit(times, 1)))


if __name__ == "__main__":
    main(sys.argv[1])
