"""The thread that hears the actors of a pool: their answers, their ends, and when one has run too long."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from functools import partial
from logging import getLogger
from time import monotonic

from coldfork.launch.pool.answers import settle
from coldfork.launch.pool.dispatcher import Dispatcher
from coldfork.launch.pool.errors import RemoteError
from coldfork.launch.pool.on_ray import deaths, parcels
from coldfork.launch.pool.on_ray.cluster import cluster, ray_package
from coldfork.launch.pool.on_ray.hiring import Hiring
from coldfork.launch.pool.transport import wire
from coldfork.launch.pool.turns import take_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import Any

    from coldfork.launch.pool.on_ray.share import Share
    from coldfork.launch.pool.on_ray.worker import RayWorker
    from coldfork.launch.pool.terms import PoolTerms

_LOG = getLogger("coldfork")
GRACE_SECONDS = 5.0
"""So long a worker may take to end when no more tasks come."""
ROUND_SECONDS = 1.0
"""So often those that have nothing to do are asked after, and the connection is looked at."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class RayCrew:
    """The workers of a pool that are actors of a cluster."""

    def __init__(self, terms: PoolTerms, share: Share) -> None:
        self._ray = ray_package()
        self._cluster = cluster()
        self._cluster.connect()
        self._connection = self._cluster.enter()
        self.dispatcher = Dispatcher(
            self, terms.workers, max_tasks=terms.max_tasks, max_queue=terms.max_queue
        )
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._hiring = Hiring(self._ray, self._connection, terms, share, self._post)
        self._workers: dict[int, RayWorker] = {}
        self._round = 0.0
        self._pause = 0.0
        self._again: float | None = None
        """When those that could not be started are asked for again."""
        todo = (self.dispatcher, self._turn, self._end)
        self.thread = threading.Thread(target=take_turns, args=todo, name="worker pool", daemon=True)
        self.over = threading.Event()

    def open(self) -> None:
        """Have the workers started."""
        self._hiring.tell_of_shortage()
        self.thread.start()
        self.dispatcher.staff()

    # --- what the dispatcher asks, from any thread ---

    def start(self, place: int) -> None:
        """Have a worker started."""
        self._post(partial(self._hire, place))

    def wake(self) -> None:
        """Look at the clock, and at whether all is over."""
        self._post(_nothing)

    def _post(self, event: Callable[[], object]) -> None:
        self._events.put(event)

    # --- what the thread does ---

    def _turn(self) -> None:
        try:
            event = self._events.get(timeout=self._patience())
        except queue.Empty:
            pass
        else:
            event()
        if self.dispatcher.has_deadlines:
            self.dispatcher.see_to_deadlines()
        if self._again is not None and monotonic() >= self._again:
            self._again = None
            self.dispatcher.staff()
        if monotonic() - self._round >= ROUND_SECONDS:
            self._round = monotonic()
            self._go_round()

    def _patience(self) -> float:
        moments = [self._round + ROUND_SECONDS]
        deadline = self.dispatcher.next_deadline() if self.dispatcher.has_deadlines else None
        if deadline is not None:
            moments.append(deadline)
        if self._again is not None:
            moments.append(self._again)
        return max(0.0, min(moments) - monotonic())

    def _go_round(self) -> None:
        """See to what nobody says by itself."""
        if not self._is_connected():
            return
        now = monotonic()
        for worker in list(self._workers.values()):
            if worker.finishing_since is not None:
                if now - worker.finishing_since > GRACE_SECONDS:
                    worker.dismiss()
            elif worker.at is not None:
                worker.look()

    def _is_connected(self) -> bool:
        """Whether Ray is there still; without it no actor says anything any more."""
        if self._connection.lasts():
            return True
        self._workers.clear()
        self.dispatcher.give_up("this process has left Ray, which was shut down while the pool used it")
        self.dispatcher.lose_all()
        return False

    # --- what actors say ---

    def _hire(self, place: int) -> None:
        """Ask for an actor."""
        if not self._is_connected():
            return
        try:
            self._workers[place] = self._hiring.hired(place, self._prepared)
        except Exception as error:
            self.dispatcher.failed_to_start(place, f"{type(error).__name__}: {error}", for_good=True)

    def _prepared(self, worker: RayWorker, future: Future[Any]) -> None:
        """An actor is ready, or is not."""
        if not self._has(worker):
            return
        error = future.exception()
        if error is not None:
            self._let_go(worker)
            self._unready(worker.place, error)
            return
        said = future.result()
        if isinstance(said, str):
            self._let_go(worker)
            self.dispatcher.failed_to_start(worker.place, said, for_good=True)
            return
        worker.begin(said, self._answered, self._found)
        self._pause = 0.0
        self.dispatcher.ready(worker.place, worker, monotonic() - worker.asked)

    def _unready(self, place: int, error: BaseException) -> None:
        hopeless = self._hiring.is_hopeless(error)
        if self.dispatcher.failed_to_start(place, deaths.unready(error), for_good=hopeless):
            self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, self._pause * 2))
            self._again = monotonic() + self._pause

    def _answered(self, worker: RayWorker, future: Future[Any]) -> None:
        """An actor has done a task, or has died of it."""
        if not self._has(worker):
            return
        error = future.exception()
        if error is None:
            number, kind, seconds, parcel = future.result()
            self._done(worker, number, seconds, kind, parcel)
        elif self._hiring.is_end(error):
            self._lost(worker, error)
        else:
            self._undelivered(worker, error)

    def _done(
        self, worker: RayWorker, number: int, seconds: float, kind: int, parcel: parcels.Parcel
    ) -> None:
        worker.next()
        (task,) = self.dispatcher.answered(worker.place, [(number, seconds)])
        data, memory = b"", wire.LOST
        with suppress(OSError):
            arrived = parcels.received(parcel)
            data, memory = arrived.data, arrived.memory
        settle(self.dispatcher, task, kind, data, memory)

    def _undelivered(self, worker: RayWorker, error: BaseException) -> None:
        """What a task was given, or what it returned, could not be handed over: it fails of that alone."""
        number = worker.next()
        (task,) = self.dispatcher.answered(worker.place, [(number, 0.0)])
        failure = RemoteError(f"Ray could not hand over what the task was given or has returned: {error}")
        failure.__cause__ = error
        self.dispatcher.settle(task, error=failure)

    def _found(self, worker: RayWorker, future: Future[Any]) -> None:
        """An actor that was asked after is there, or is not."""
        error = future.exception()
        if error is None:
            worker.found()
        elif self._has(worker):
            self._lost(worker, error)

    def _lost(self, worker: RayWorker, error: BaseException) -> None:
        """An actor has died, or Ray cannot reach it."""
        if self._is_connected():
            self._let_go(worker)
            self.dispatcher.died(worker.place, worker.died(error))

    def _has(self, worker: RayWorker) -> bool:
        return self._workers.get(worker.place) is worker

    def _let_go(self, worker: RayWorker) -> None:
        del self._workers[worker.place]
        # Ray may have lost it for a while only: what it does then would be done for nobody.
        worker.dismiss()

    def _end(self) -> None:
        for worker in self._workers.values():
            worker.dismiss()
        self._workers.clear()
        try:
            self._cluster.leave()
        except Exception:
            _LOG.exception("the Ray that the pool has started could not be ended")
        self.over.set()


def _nothing() -> None:
    """What is done where it is enough to wake up."""
