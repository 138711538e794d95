"""The thread that receives the answers of a pool's actors, and handles their ends and deadlines."""

from __future__ import annotations

import queue
from contextlib import suppress
from functools import partial
from logging import getLogger
from time import monotonic

from coldfork.launch.pool import wire
from coldfork.launch.pool.dispatcher import Dispatcher
from coldfork.launch.pool.errors import RemoteError
from coldfork.launch.pool.on_ray import actor
from coldfork.launch.pool.on_ray.cluster import cluster, ray_package, share_of
from coldfork.launch.pool.on_ray.worker import RayWorker, unready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import Any

    from coldfork.launch.pool.terms import PoolTerms

_LOG = getLogger("coldfork")
GRACE_SECONDS = 5.0
"""How long a worker may take to end after its last task."""
ROUND_SECONDS = 1.0
"""How often idle workers and the connection are checked."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class RayBackend:
    """The workers of a pool, as actors of a Ray cluster."""

    def __init__(self, terms: PoolTerms) -> None:
        share = share_of(terms)
        self._ray = ray_package()
        self._cluster = cluster()
        self._connection = self._cluster.enter()
        self.dispatcher: Dispatcher = Dispatcher(terms, self._start, self._wake)
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._call = (terms.initializer, terms.initargs)
        self._preload = share.preload
        self._actors = self._ray.remote(**share.options())(actor.TaskActor)
        self._workers: dict[int, RayWorker] = {}
        self._round = 0.0
        self._pause = 0.0
        self._again: float | None = None
        """When the actors that could not be started are requested again."""
        self._tell_of_shortage(share.gpus * terms.workers)
        self.dispatcher.open(self._turn, self._end)

    def _tell_of_shortage(self, gpus: float) -> None:
        """Warn if the cluster has too few devices, because Ray would silently wait for more."""
        there = self._ray.cluster_resources().get("GPU", 0) if gpus else 0
        if there < gpus:
            _LOG.warning(
                "the pool's workers need %g GPU in all, but the Ray cluster has %g: the others start "
                "when it has more",
                gpus,
                there,
            )

    # --- called by the dispatcher, from any thread ---

    def _start(self, place: int) -> None:
        """Request a worker."""
        self._post(partial(self._hire, place))

    def _wake(self) -> None:
        """Have the thread check the deadlines, and whether the pool has ended."""
        # An empty call suffices, because the thread checks after each one.
        self._post(lambda: None)

    def _post(self, event: Callable[[], object]) -> None:
        self._events.put(event)

    # --- called by the thread ---

    def _turn(self) -> None:
        try:
            event = self._events.get(timeout=self._patience())
        except queue.Empty:
            pass
        else:
            event()
        self.dispatcher.attend()
        if self._again is not None and monotonic() >= self._again:
            self._again = None
            self.dispatcher.staff()
        if monotonic() - self._round >= ROUND_SECONDS:
            self._round = monotonic()
            self._go_round()

    def _patience(self) -> float:
        moments = (self._round + ROUND_SECONDS, self.dispatcher.next_deadline(), self._again)
        return max(0.0, min(moment for moment in moments if moment is not None) - monotonic())

    def _go_round(self) -> None:
        """Check for problems that nothing reports: a lost connection to Ray, idle actors that have died."""
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
        """Return whether Ray is still connected; if not, end the pool, as no actor can report any more."""
        if self._connection.lasts():
            return True
        self._workers.clear()
        why = "Ray was shut down in this process while the pool used it"
        self.dispatcher.give_up(why, unheard=True)
        return False

    # --- reports of actors ---

    def _hire(self, place: int) -> None:
        """Start an actor for a worker."""
        if not self._is_connected():
            return
        try:
            initializer = None if self._call[0] is None else wire.by_value(self._call)
            worker = RayWorker(place, self._actors.remote(), self._connection, self._post)
            worker.prepare(self._preload, initializer, self._prepared)
            self._workers[place] = worker
        except Exception as error:
            self.dispatcher.failed_to_start(place, f"{type(error).__name__}: {error}", for_good=True)

    def _prepared(self, worker: RayWorker, future: Future[Any]) -> None:
        """Handle an actor's report that it is ready or has failed."""
        if not self._has(worker):
            return
        error = future.exception()
        said = future.result() if error is None else unready(error)
        if not isinstance(said, str):
            worker.begin(said, self._answered, self._found)
            self._pause = 0.0
            self.dispatcher.ready(worker)
            return
        self._let_go(worker)
        for_good = error is None or self._is_hopeless(error)
        if self.dispatcher.failed_to_start(worker.place, said, for_good=for_good):
            self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, self._pause * 2))
            self._again = monotonic() + self._pause

    def _answered(self, worker: RayWorker, future: Future[Any]) -> None:
        """Handle a task's answer, or its actor's death during the task."""
        if not self._has(worker):
            return
        error = future.exception()
        if error is None:
            number, kind, seconds, parcel = future.result()
            self._done(worker, number, seconds, kind, parcel)
        elif self._is_end(error):
            self._lost(worker, error)
        else:
            self._undelivered(worker, error)

    def _done(self, worker: RayWorker, number: int, seconds: float, kind: int, parcel: actor.Parcel) -> None:
        worker.next()
        (task,) = self.dispatcher.answered(worker, [(number, seconds)])
        data, memory = b"", wire.LOST
        with suppress(OSError):
            arrived = actor.received(parcel)
            data, memory = arrived.data, arrived.memory
        self.dispatcher.settle(task, *wire.ended(kind, data, memory))

    def _undelivered(self, worker: RayWorker, error: BaseException) -> None:
        """Fail a task whose arguments or result could not be delivered."""
        number = worker.next()
        (task,) = self.dispatcher.answered(worker, [(number, 0.0)])
        failure = RemoteError(f"Ray could not hand over the task's arguments or its result: {error}")
        failure.__cause__ = error
        self.dispatcher.settle(task, error=failure)

    def _found(self, worker: RayWorker, future: Future[Any]) -> None:
        """Handle an idle actor's answer to a check, or the error that the actor is lost."""
        error = future.exception()
        if error is None:
            worker.found()
        elif self._has(worker):
            self._lost(worker, error)

    def _lost(self, worker: RayWorker, error: BaseException) -> None:
        """Handle an actor that has died, or that Ray cannot reach."""
        if self._is_connected():
            self._let_go(worker)
            self.dispatcher.died(worker, worker.died(error))

    def _has(self, worker: RayWorker) -> bool:
        return self._workers.get(worker.place) is worker

    def _let_go(self, worker: RayWorker) -> None:
        del self._workers[worker.place]
        # Ray may have lost the actor only for a while, but any further work by it would be useless.
        worker.dismiss()

    def _end(self) -> None:
        for worker in self._workers.values():
            worker.dismiss()
        self._workers.clear()
        try:
            self._cluster.leave()
        except Exception:
            _LOG.exception("cannot end the Ray that the pool has started")

    # --- what Ray's errors mean ---

    def _is_end(self, error: BaseException) -> bool:
        """Return whether an error means that an actor is lost, and not just that one of its calls failed."""
        errors = self._ray.exceptions
        vain = (errors.RayTaskError, errors.ObjectStoreFullError, errors.OutOfDiskError)
        return isinstance(error, errors.RayError) and not isinstance(error, vain)

    def _is_hopeless(self, error: BaseException) -> bool:
        """Return whether a failure means that no actor can ever become ready."""
        errors = self._ray.exceptions
        if isinstance(error, errors.RayTaskError | errors.RuntimeEnvSetupError):
            return True
        # The constructor does nothing of its own, so its failure means that the node cannot import coldfork.
        return isinstance(error, errors.RayActorError) and error.actor_init_failed
