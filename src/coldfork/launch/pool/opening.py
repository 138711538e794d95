"""Open a pool, and end it if its caller was interrupted or has vanished without shutting it down."""

from __future__ import annotations

import os
import queue
import sys
import threading
import weakref
from errno import EAGAIN
from functools import cache

from coldfork.launch.server.zygote.handle import Zygote
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.pool.dispatcher import Dispatcher
    from coldfork.launch.pool.terms import PoolTerms

LOCAL, RAY = "local", "ray"
BACKENDS = (LOCAL, RAY)
_NO_THREAD = "can't start new thread"


class Opening:
    """The opening of a pool in a thread of its own, because the caller may be interrupted at any moment.

    Even then the thread completes what it has begun; the pool ends as soon as it is certain that no caller
    will use it.
    """

    def __init__(self, backend: str, server: dict[str, Any]) -> None:
        """`server` holds the options of the server that forks workers on this machine."""
        self._is_local = backend == LOCAL
        self._server = server
        self._home = os.getpid()
        self._living = _living(self._home)
        self._is_abandoned = False
        self._handed: queue.SimpleQueue[PoolTerms | None] = queue.SimpleQueue()
        """The pool's terms, or None if they will not come."""
        self._began = threading.Event()
        self._thread = threading.Thread(target=self._open, name="worker pool opens", daemon=True)
        self._dispatcher: Dispatcher | None = None
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Start the server in a thread, without waiting for it."""
        if not self._is_local:
            return
        try:
            self._thread.start()
        except RuntimeError as error:
            self._error = error
        else:
            # Wait until the thread has begun: otherwise the caller's imports would keep it from running.
            self._began.wait()

    def dispatcher(self, terms: PoolTerms) -> Dispatcher:
        """Start the workers; return the dispatcher that assigns tasks to them."""
        if self._is_local:
            # Imported in this thread, because the caller may hold an import lock that the other thread would
            # need.
            import coldfork.launch.pool.local.backend  # noqa: F401

            self._handed.put(terms)
            if self._thread.ident is not None:
                self._thread.join()
        else:
            from coldfork.launch.pool.on_ray.backend import RayBackend

            # Ray must be connected from the main thread.
            self._opened(RayBackend(terms).dispatcher)
        if self._dispatcher is None:
            assert self._error is not None
            if str(self._error) == _NO_THREAD:
                raise UsageError(f"cannot start the threads of a pool: {os.strerror(EAGAIN)}") from None
            raise self._error
        return self._dispatcher

    def _open(self) -> None:
        try:
            try:
                server = Zygote(self._server).start()
            finally:
                self._began.set()
            terms = self._handed.get()
            if terms is None:
                server.close()
                return
            from coldfork.launch.pool.local.backend import LocalBackend

            self._opened(LocalBackend(terms, server).dispatcher)
        except BaseException as error:
            self._error = error

    def _opened(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._living.add(dispatcher)
        if self._is_abandoned:
            self.abandon()

    def abandon(self) -> None:
        """Abandon the pool: it ends when its accepted tasks are done."""
        self._is_abandoned = True
        self._handed.put(None)
        if self._dispatcher is not None and os.getpid() == self._home:
            self._dispatcher.close(cancel=False)


def check_backend(backend: str, max_memory: object, log_dir: object, max_device_memory: object) -> None:
    """Refuse an unknown backend, or options that the backend cannot provide."""
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}; choose {', '.join(BACKENDS)}")
    if backend == RAY:
        from coldfork.launch.pool.on_ray.cluster import ray_package, refuse_what_ray_lacks

        ray_package()
        refuse_what_ray_lacks(max_memory, log_dir, max_device_memory)


def usual_workers(backend: str) -> int:
    """Return the default number of workers: the number of processors that are available to the pool."""
    if backend == LOCAL:
        return len(os.sched_getaffinity(0))
    from coldfork.launch.pool.on_ray.cluster import cluster

    cluster().connect()
    return cluster().processors()


@cache
def _living(home: int) -> weakref.WeakSet[Dispatcher]:
    """Return this process's open pools; the process waits for them at its end, like `concurrent.futures`."""
    living: weakref.WeakSet[Dispatcher] = weakref.WeakSet()

    def end() -> None:
        if os.getpid() != home:
            # A forked child inherits the set of pools, but not the threads that it would wait for.
            return
        for dispatcher in list(living):
            # After an uncaught Ctrl-C, pending tasks are cancelled instead of awaited.
            interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt
            dispatcher.close(cancel=interrupted, kill=interrupted)
        for dispatcher in list(living):
            dispatcher.await_end()

    # This runs before threads are joined, as in `concurrent.futures`; functions of `atexit` run too late.
    threading._register_atexit(end)  # type: ignore[attr-defined]
    return living
