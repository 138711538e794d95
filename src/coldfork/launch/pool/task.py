"""A task of a pool, and the future through which its caller gets the outcome."""

from __future__ import annotations

from concurrent.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from coldfork.launch.pool.payload import Payload

    T = TypeVar("T")


class PoolFuture(Future["T"]):
    """The future that `submit` returns; it records the task's worker, and can kill the task."""

    def __init__(self) -> None:
        super().__init__()
        self.worker: int | None = None
        """The number of the process that runs or ran the task."""
        self.device: str | None = None
        """The device assigned to that process."""
        self.attempts: tuple[BaseException, ...] = ()
        """How earlier attempts ended, if the pool was asked to retry."""
        self._killer: Callable[[], bool] | None = None
        self._raised: list[BaseException] | None = None
        """The exceptions raised by callbacks that the pool's thread has called."""

    def _invoke_callbacks(self) -> None:
        """Call the callbacks; in the pool's thread, collect their exceptions, which that thread reports."""
        if self._raised is None:
            super()._invoke_callbacks()  # type: ignore[misc]
            return
        for callback in self._done_callbacks:  # type: ignore[attr-defined]
            try:
                callback(self)
            except BaseException as error:
                self._raised.append(error)

    def kill(self) -> bool:
        """Kill the task, even while it runs: its worker is killed and replaced. Return False if it has ended.

        A task that has not begun is cancelled; the future of a running one raises `TaskKilledError`.
        """
        if self.cancel():
            return True
        killer = self._killer
        return killer is not None and killer()


class Task:
    """A task of a pool, until its future is settled."""

    __slots__ = (
        "begun",
        "future",
        "is_on_its_way",
        "number",
        "payload",
        "retries",
        "stopped",
        "submitted",
        "timeout",
    )

    def __init__(
        self,
        number: int,
        future: PoolFuture[Any],
        payload: Payload,
        timeout: float | None = None,
        retries: int = 0,
    ) -> None:
        self.number: int = number
        self.future: PoolFuture[Any] = future
        self.payload: Payload = payload
        self.timeout: float | None = timeout
        """How many seconds it may run."""
        self.retries: int = retries
        """How many times it is run again if its worker dies."""
        self.submitted: float | None = None
        """When it was submitted, by the monotonic clock, if waiting times are measured."""
        self.begun: bool = False
        """Whether its future is marked as running."""
        self.is_on_its_way: bool = False
        """Whether a caller is about to give it to a worker."""
        self.stopped: BaseException | None = None
        """Why the pool is killing the task's worker; None if it is not."""

    def settle(self, value: object, error: BaseException | None) -> list[BaseException]:
        """Settle the task's future; return the exceptions that callbacks raised."""
        self.payload.close()
        future = self.future
        raised = future._raised = []
        # Break the reference cycle, which would keep task and future until the next garbage collection.
        future._killer = None
        if error is None:
            future.set_result(value)
        elif self.begun or future.set_running_or_notify_cancel():
            future.set_exception(error)
        return raised

    def cancel(self) -> bool:
        """Cancel the task if no worker has begun it."""
        if not self.future.cancel():
            return False
        self.future.set_running_or_notify_cancel()
        self.payload.close()
        return True
