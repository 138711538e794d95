"""Asks Ray for actors, one for each place of a pool."""

from __future__ import annotations

from logging import getLogger

from coldfork.launch.pool.on_ray.actor import TaskActor
from coldfork.launch.pool.on_ray.worker import RayWorker
from coldfork.launch.pool.transport.pickling import by_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.pool.on_ray.cluster import Connection
    from coldfork.launch.pool.on_ray.share import Share
    from coldfork.launch.pool.on_ray.worker import Heard, Post
    from coldfork.launch.pool.terms import PoolTerms

_LOG = getLogger("coldfork")


class Hiring:
    """What starts the workers of one pool."""

    def __init__(self, ray: Any, connection: Connection, terms: PoolTerms, share: Share, post: Post) -> None:
        self._ray = ray
        self._connection = connection
        self._terms = terms
        self._gpus = share.gpus * terms.workers
        self._preload = share.preload
        self._post = post
        self._actors = ray.remote(**share.options())(TaskActor)

    def tell_of_shortage(self) -> None:
        """Say it where the cluster has not enough devices: Ray waits for more without a word."""
        there = self._ray.cluster_resources().get("GPU", 0) if self._gpus else 0
        if there < self._gpus:
            _LOG.warning(
                "the pool's workers ask Ray for %g GPU in all, and the cluster has %g: the others are "
                "started when it has more",
                self._gpus,
                there,
            )

    def hired(self, place: int, prepared: Heard) -> RayWorker:
        """An actor for this place; `prepared` is told when it is ready, or why it is not."""
        initializer = None
        if self._terms.initializer is not None:
            initializer = by_value((self._terms.initializer, self._terms.initargs))
        worker = RayWorker(place, self._actors.remote(), self._connection, self._post)
        worker.prepare(self._preload, initializer, prepared)
        return worker

    def is_end(self, error: BaseException) -> bool:
        """Whether this says that an actor is lost, and not that one of its calls was in vain."""
        errors = self._ray.exceptions
        vain = (errors.RayTaskError, errors.ObjectStoreFullError, errors.OutOfDiskError)
        return isinstance(error, errors.RayError) and not isinstance(error, vain)

    def is_hopeless(self, error: BaseException) -> bool:
        """Whether no actor will ever be ready, since this is why one was not."""
        errors = self._ray.exceptions
        if isinstance(error, errors.RayTaskError | errors.RuntimeEnvSetupError):
            return True
        # The constructor has nothing to do: coldfork cannot be imported there.
        return isinstance(error, errors.RayActorError) and error.actor_init_failed
