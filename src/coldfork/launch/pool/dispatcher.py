"""The callers' side of a pool: give a task to an idle worker, or pass a request to the pool's thread."""

from __future__ import annotations

from functools import partial
from time import monotonic

from coldfork.launch.pool.errors import PoolBrokenError
from coldfork.launch.pool.health import Durations, PoolHealth
from coldfork.launch.pool.life import PoolLife
from coldfork.launch.pool.requests import ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.pool.task import Task

_LONGEST_CALLBACK = 1.0
_MANY = 16


class Dispatcher(PoolLife):
    """A pool as its callers use it. The pool's thread makes all changes, except those that a single C call
    makes.
    """

    def ask(self, request: Callable[[], object]) -> None:
        """Have the pool's thread run this request soon."""
        self._requests.ask(request)

    def submit(self, task: Task) -> None:
        """Accept a task; raise `RuntimeError` after the pool's end, like every executor."""
        if self._assigned.durations is not None:
            task.submitted = monotonic()
        self._check()
        if self._assigned.idle and self._is_given_at_once(task):
            return
        if self._terms.max_queue is None:
            self._requests.ask(task)
        else:
            self._requests.ask_when(self._has_room, task)

    def _is_given_at_once(self, task: Task) -> bool:
        """Give a task without a timeout directly to an idle worker, if no task waits; return whether it was
        given.
        """
        if task.timeout is not None or task.payload.is_large or self._waiting():
            return False
        try:
            worker = next(reversed(self._assigned.idle))
        except (StopIteration, RuntimeError):
            # No worker is idle, or another thread is just taking the last idle one.
            return False
        task.begun = task.begun or task.future.set_running_or_notify_cancel()
        try:
            return self._requests.hand_over(self._assigned.idle, worker, task)
        except (OSError, ValueError):
            # The worker has died, and the pool's thread has yet to notice.
            self.ask(partial(self._assigned.unsent, worker, task))
            return True

    def _check(self) -> None:
        if self._broken is not None:
            raise PoolBrokenError(str(self._broken))
        if self._closing:
            raise RuntimeError(ENDED)

    def _has_room(self) -> bool:
        self._check()
        return self._terms.max_queue is None or self._waiting() < self._terms.max_queue

    @property
    def many_wait(self) -> bool:
        """Return whether tasks that are submitted now will wait behind others for a while."""
        return self._waiting() > _MANY

    def kill(self, task: Task) -> bool:
        """Kill a task, waiting or running; False if it has ended already."""
        return not task.future.done() and self._requests.answer(partial(self._kill, task))

    def close(self, *, cancel: bool, kill: bool = False) -> None:
        """Accept no more tasks; the workers end when no task is left."""
        self._closing = True
        close = partial(self._close, cancel=cancel, kill=kill)
        if cancel:
            # Wait until the tasks are cancelled, but not for ever: a callback may need a lock that this
            # caller holds.
            self._requests.answer(close, _LONGEST_CALLBACK)
        else:
            self.ask(close)

    def await_workers(self, wanted: int, timeout: float | None) -> bool:
        """Wait for this many ready workers; return False on timeout; raise `PoolBrokenError` if none can
        come.
        """

        def are_ready() -> bool:
            return len(self._assigned.workers) >= wanted

        self._requests.await_change(lambda: are_ready() or self._broken is not None, timeout)
        if self._broken is not None:
            raise PoolBrokenError(str(self._broken))
        return are_ready()

    def await_end(self) -> None:
        """Wait until no worker is left; return at once in the pool's own thread."""
        if not self._requests.are_own:
            self._over.wait()

    def health(self) -> PoolHealth:
        """Return the pool's current health."""
        workers = sorted(self._assigned.workers.copy().items())
        return PoolHealth(
            workers=self._terms.workers,
            warm=len(workers),
            busy=sum(1 for _, worker in workers if worker.given) + len(self._requests.handed_over),
            starting=len(self._starting),
            waiting=self._waiting(),
            failures=self._failures,
            last_failure=self._last_failure,
            broken=self._broken is not None,
            closed=self._closing,
            pids=tuple(worker.pid for _, worker in workers),
            counts=self._counts.copied(),
        )

    def measure(self) -> Durations:
        """Count durations from now on, and return the object with the counts."""
        self._assigned.durations = self._assigned.durations or Durations()
        return self._assigned.durations
