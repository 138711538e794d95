"""The worker pool with the parameters of `concurrent.futures.ProcessPoolExecutor`, and in its place.

CPython's tests make their executors by that name, also in programs of their own that they start with `-I`;
a .pth file calls `install` in each Python of the environment while EXECUTOR_TESTS is set.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.process
from collections.abc import Callable
from typing import Any

import coldfork
from coldfork.launch.pool.errors import WorkerDiedError


class ProcessPoolExecutor(coldfork.WorkerPool):
    """The worker pool; the context of `multiprocessing` is not asked for, as there is one way to start it."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: Any = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        super().__init__(
            2 if max_workers is None else max_workers,
            initializer=initializer,
            initargs=initargs,
            max_tasks=max_tasks_per_child,
        )


def install() -> None:
    """Take its place."""
    concurrent.futures.ProcessPoolExecutor = ProcessPoolExecutor  # type: ignore[assignment,misc]
    # What a task gets whose worker has died: here it is an error of that task, and the pool goes on.
    concurrent.futures.process.BrokenProcessPool = WorkerDiedError  # type: ignore[assignment,misc]
