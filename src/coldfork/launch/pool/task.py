"""A task of a pool, and the future by which its caller hears of it."""

from __future__ import annotations

from concurrent.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from coldfork.launch.pool.payload import Payload

    T = TypeVar("T")


class PoolFuture(Future["T"]):
    """What `submit` returns: a `concurrent.futures.Future` that knows who works on it, and can end that."""

    def __init__(self) -> None:
        super().__init__()
        self.worker: int | None = None
        """The process that works on it, or has."""
        self.device: str | None = None
        """The device of that process."""
        self.attempts: tuple[BaseException, ...] = ()
        """How earlier attempts ended, where the pool was asked to try again."""
        self._killer: Callable[[], bool] | None = None
        self._raised: list[BaseException] | None = None
        """What callbacks have raised, where it is the pool's thread that has called them."""

    def _invoke_callbacks(self) -> None:
        """Call what was to be called; what that raises in the pool's thread is kept, whatever it is."""
        if self._raised is None:
            super()._invoke_callbacks()  # type: ignore[misc]
            return
        for callback in self._done_callbacks:  # type: ignore[attr-defined]
            try:
                callback(self)
            except BaseException as error:
                self._raised.append(error)

    def kill(self) -> bool:
        """End it, even while it runs: its worker is killed and replaced. False if it has ended already.

        One that had not begun is cancelled. One that runs raises `TaskKilledError`.
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
        """So many seconds it may run."""
        self.retries: int = retries
        """So often it is done again when its worker dies."""
        self.submitted: float | None = None
        """When, by the monotonic clock, where somebody asks how long tasks wait."""
        self.begun: bool = False
        """Whether its future says that it runs."""
        self.is_on_its_way: bool = False
        """Whether a caller is about to give it to a worker."""
        self.stopped: BaseException | None = None
        """Why its worker is being killed, when that was the pool."""

    def settle(self, value: object, error: BaseException | None) -> list[BaseException]:
        """Tell its caller how it ended; what callbacks have raised."""
        self.payload.close()
        future = self.future
        raised = future._raised = []
        # Or the two would keep each other until somebody collects garbage.
        future._killer = None
        if error is None:
            future.set_result(value)
        elif self.begun or future.set_running_or_notify_cancel():
            future.set_exception(error)
        return raised

    def cancel(self) -> bool:
        """Cancel it, if nobody has begun with it."""
        if not self.future.cancel():
            return False
        self.future.set_running_or_notify_cancel()
        self.payload.close()
        return True
