"""Errors of a pool and of its tasks; each says when it is raised."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor

from coldfork.model.errors import ColdforkError


class PoolError(ColdforkError, RuntimeError):
    """Raised where a pool cannot be used like this: in another process, or during its own import."""


class PoolBrokenError(ColdforkError, BrokenExecutor):
    """No worker can be started any more; the message says why. Every unfinished task fails with it."""


class WorkerDiedError(ColdforkError, RuntimeError):
    """The worker that ran the task died, and the pool had not ended it. No other task fails because of it."""

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
        """The exit code as `multiprocessing` has it: negative for a signal."""
        self.signal = signal
        """The name of the signal that ended it, such as `SIGSEGV`."""
        self.device = device
        """The device that the worker was given."""
        self.errors = errors
        """The last lines that the worker wrote to standard error."""

    def __str__(self) -> str:
        return self.message


class MemoryCapError(WorkerDiedError):
    """The worker that ran the task, with all it had started, exceeded `max_memory`."""


class TaskTimeoutError(ColdforkError, TimeoutError):
    """The task ran longer than its timeout, and its worker was killed."""


class TaskKilledError(ColdforkError):
    """The task was running when `kill` was called on its future, and its worker was killed."""


def kind(error: BaseException) -> str:
    """Return why a task failed, in one of the words of `health.FAILURES`."""
    kinds = (
        (MemoryCapError, "memory-cap"),
        (WorkerDiedError, "worker-died"),
        (TaskTimeoutError, "timed-out"),
        (TaskKilledError, "killed"),
        (PoolBrokenError, "pool-broken"),
    )
    return next((word for one, word in kinds if isinstance(error, one)), "raised")


class RemoteError(ColdforkError):
    """A task raised or returned something that cannot be handed over; this says what it was."""


class RemoteTraceback(Exception):
    """The cause of an exception that a task raised: its traceback in the worker."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text
