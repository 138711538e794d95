"""A task of a pool, and the future by which its caller hears of it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.pool.transport.payloads import Payload


class PoolFuture(Future[Any]):
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

    def kill(self) -> bool:
        """End it, even while it runs: its worker is killed and replaced. False if it has ended already.

        One that had not begun is cancelled. One that runs raises `TaskKilledError`.
        """
        if self.cancel():
            return True
        killer = self._killer
        return killer is not None and killer()


@dataclass(eq=False, slots=True)
class Task:
    """A task of a pool, until its future is settled."""

    number: int
    future: PoolFuture
    payload: Payload
    timeout: float | None = None
    """So many seconds it may run."""
    retries: int = 0
    """So often it is done again when its worker dies."""
    submitted: float | None = None
    """When, by the monotonic clock, where somebody asks how long tasks wait."""
    begun: bool = False
    """Whether its future says that it runs."""
    stopped: BaseException | None = field(default=None)
    """Why its worker is being killed, when that was the pool."""
