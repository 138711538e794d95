"""How tasks end: their callers are told, each once, and it is counted."""

from __future__ import annotations

from coldfork.launch.pool.errors import TaskKilledError, kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from coldfork.launch.pool.health import Counts
    from coldfork.launch.pool.tasks import Task


class Outcomes:
    """What tells callers how their tasks have ended."""

    def __init__(self, counts: Counts, lock: threading.RLock) -> None:
        self._counts = counts
        self._lock = lock

    def settle(self, task: Task, value: object = None, error: BaseException | None = None) -> None:
        """Tell a task's caller how it ended."""
        task.payload.close()
        future = task.future
        # Or the two would keep each other until somebody collects garbage.
        future._killer = None
        if error is None:
            self._counts.done += 1
            future.set_result(value)
            return
        with self._lock:
            self._counts.failed += 1
            self._counts.failures[kind(error)] += 1
        if task.begun or future.set_running_or_notify_cancel():
            future.set_exception(error)

    def drop(self, tasks: Iterable[Task]) -> None:
        """Nobody will begin with these any more: they are cancelled, or were begun with once and fail."""
        for task in tasks:
            if task.future.cancel():
                task.future.set_running_or_notify_cancel()
                task.payload.close()
            else:
                self.settle(task, error=TaskKilledError("the pool was ended before the task had begun"))
