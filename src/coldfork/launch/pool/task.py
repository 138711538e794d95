"""A task of a pool: the values that it travels with, and the future by which its caller hears of it."""

from __future__ import annotations

import copyreg
import os
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from coldfork.launch.plumbing import channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_OPEN = ("multiprocessing.connection", "socket", "_socket")
"""Where the classes stand whose objects are open here, and are opened there by what multiprocessing knows.

It knows what to do with tensors as well, once torch has told it: to share their memory with the caller.
They are copied here, as everything else is.
"""


def reducers() -> dict[type, Callable[[Any], Any]]:
    """How objects of some classes are taken apart, beside what `pickle` knows by itself."""
    known = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return _joined(len(copyreg.dispatch_table), len(known))


@cache
def _joined(_generally: int, _to_processes: int) -> dict[type, Callable[[Any], Any]]:
    """Anew when there are more of them: joining them for each value would take longer than pickling it."""
    known: dict[type, Callable[[Any], Any]] = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return {**copyreg.dispatch_table, **{each: known[each] for each in known if each.__module__ in _OPEN}}


@dataclass(slots=True)
class Payload:
    """A value, packed."""

    data: bytes
    """The pickle, or where a memory file is, what tells its pieces apart."""
    memory: int = -1
    """The descriptor of the memory file."""
    kept: tuple[bytes | memoryview, ...] = ()
    """What the memory file is to hold, where there is none yet."""

    @property
    def is_large(self) -> bool:
        """Whether it has a memory file, or will have one when it is sent."""
        return self.memory >= 0 or bool(self.kept)

    def open(self) -> None:
        """Put what is kept into a memory file, which is sent next."""
        if self.kept and self.memory < 0:
            self.memory = channel.holding("coldfork", *self.kept)

    def close(self) -> None:
        """Let go of the memory file."""
        # Two threads may come here at once, and the number is another file's as soon as it is closed.
        memory, self.memory = self.memory, -1
        if memory >= 0:
            os.close(memory)


class PoolFuture(Future[T]):
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


@dataclass(eq=False, slots=True)
class Task:
    """A task of a pool, until its future is settled."""

    number: int
    future: PoolFuture[Any]
    payload: Payload
    timeout: float | None = None
    """So many seconds it may run."""
    retries: int = 0
    """So often it is done again when its worker dies."""
    submitted: float | None = None
    """When, by the monotonic clock, where somebody asks how long tasks wait."""
    begun: bool = False
    """Whether its future says that it runs."""
    is_on_its_way: bool = False
    """Whether a caller is about to give it to a worker."""
    stopped: BaseException | None = None
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
