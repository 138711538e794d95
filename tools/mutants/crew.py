"""Several workers, each with a copy of its own, that share one list of work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from mutants.copies import Copy
from mutants.workers import Worker

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Crew:
    """Workers that are ready."""

    def __init__(self, workers: list[Worker]) -> None:
        self._workers = workers

    @property
    def copies(self) -> list[Copy]:
        """The copies that they work in."""
        return [worker.copy for worker in self._workers]

    def share(self, tasks: Iterable[Task], do: Callable[[Worker, Task], Answer]) -> Iterator[Answer]:
        """Let each worker do one task after the other; the answers as they come."""
        free = list(self._workers)
        lock = threading.Lock()

        def one(task: Task) -> Answer:
            with lock:
                worker = free.pop()
            try:
                return do(worker, task)
            finally:
                with lock:
                    free.append(worker)

        pool = ThreadPoolExecutor(len(self._workers))
        futures = [pool.submit(one, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def dismiss(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.close()


@contextmanager
def hired(root: Path, folder: Path, number: int) -> Iterator[Crew]:
    """Workers with copies below a folder."""
    workers: list[Worker] = []
    try:
        workers += (Worker(Copy(root, folder / str(index))) for index in range(number))
        yield Crew(workers)
    finally:
        Crew(workers).dismiss()
