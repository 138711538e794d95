"""What goes wrong with a pool or with one of its tasks, each an error that says when you get it."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor

from coldfork.model.errors import ColdforkError


class PoolError(ColdforkError, RuntimeError):
    """You get it where a pool cannot be used like this: in another process, or while it is imported."""


class PoolBrokenError(ColdforkError, BrokenExecutor):
    """No worker can be started any more; the message says why. Every task that had not ended gets it."""


class WorkerDiedError(ColdforkError, RuntimeError):
    """The worker that ran the task has died, and not because the pool ended it. No other task fails of it."""

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
        """As `multiprocessing` has it: negative for a signal."""
        self.signal = signal
        """The name of the signal that ended it, such as `SIGSEGV`."""
        self.device = device
        """The device that it was given."""
        self.errors = errors
        """The last lines that it wrote to its standard error."""

    def __str__(self) -> str:
        return self.message


class MemoryCapError(WorkerDiedError):
    """The worker that ran the task, with all it had started, came to hold more memory than `max_memory`."""


class TaskTimeoutError(ColdforkError, TimeoutError):
    """The task ran longer than its timeout, and its worker was killed."""


class TaskKilledError(ColdforkError):
    """The task was running when `kill` was called on its future, and its worker was killed."""


def kind(error: BaseException) -> str:
    """Why a task failed, in a word: that of `FAILURES` in the module about health."""
    kinds = (
        (MemoryCapError, "memory-cap"),
        (WorkerDiedError, "worker-died"),
        (TaskTimeoutError, "timed-out"),
        (TaskKilledError, "killed"),
        (PoolBrokenError, "pool-broken"),
    )
    return next((word for one, word in kinds if isinstance(error, one)), "raised")


class RemoteError(ColdforkError):
    """A task raised something, or returned something, that cannot be handed over; this says what it was."""


class RemoteTraceback(Exception):
    """The cause of an exception that a task raised: where it was raised, in the worker."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text
