"""Errors of a pool and of its tasks, each with the situation in which it is raised."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor

from coldfork.model.errors import ColdforkError


class PoolError(ColdforkError, RuntimeError):
    """Raised if a pool cannot be used here: in another process, or while its own module is being imported."""


class PoolBrokenError(ColdforkError, BrokenExecutor):
    """No worker can be started any more; the message says why. Unfinished tasks fail with this error."""


class WorkerDiedError(ColdforkError, RuntimeError):
    """The worker that ran the task died, and not because the pool ended it. No other task fails with it."""

    def __init__(
        self,
        message: str,
        pid: int | None = None,
        exitcode: int | None = None,
        signal: str | None = None,
        device: str | None = None,
        errors: str = "",
    ) -> None:
        super().__init__(message, pid, exitcode, signal, device, errors)
        self.message = message
        self.pid = pid
        self.exitcode = exitcode
        """The exit code as `multiprocessing` gives it: negative for a signal."""
        self.signal = signal
        """The name of the signal that ended the worker, such as `SIGSEGV`."""
        self.device = device
        """The device that was assigned to the worker."""
        self.errors = errors
        """The last lines that the worker wrote to standard error."""

    def __str__(self) -> str:
        return self.message


class MemoryCapError(WorkerDiedError):
    """The worker that ran the task and the processes that it started together exceeded `max_memory`."""


class TaskTimeoutError(ColdforkError, TimeoutError):
    """The task ran longer than its timeout, and its worker was killed."""


class TaskKilledError(ColdforkError):
    """The task was running when `kill` was called on its future, and its worker was killed."""


def kind(error: BaseException) -> str:
    """Return the kind of a task's failure, one of the words in `health.FAILURES`."""
    kinds = (
        (MemoryCapError, "memory-cap"),
        (WorkerDiedError, "worker-died"),
        (TaskTimeoutError, "timed-out"),
        (TaskKilledError, "killed"),
        (PoolBrokenError, "pool-broken"),
    )
    return next((word for one, word in kinds if isinstance(error, one)), "raised")


class RemoteError(ColdforkError):
    """A task raised or returned an object that cannot be sent; the message describes it."""


class RemoteTraceback(Exception):
    """The cause shown under a task's exception: its traceback in the worker."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text
