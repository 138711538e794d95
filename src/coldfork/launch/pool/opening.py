"""How a pool begins, and how it ends though its caller has not shut it: interrupted, or simply gone."""

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
    """A pool that is opened, by a thread of its own: the caller may be interrupted at any moment.

    Then what the thread has begun is whole all the same, and ends as soon as it is known that nobody has it.
    """

    def __init__(self, backend: str, server: dict[str, Any]) -> None:
        """`server` is what a server is to be that starts workers of this machine."""
        self._is_local = backend == LOCAL
        self._server = server
        self._home = os.getpid()
        self._living = _living(self._home)
        self._is_abandoned = False
        self._handed: queue.SimpleQueue[PoolTerms | None] = queue.SimpleQueue()
        """The terms, or that none will come."""
        self._began = threading.Event()
        self._thread = threading.Thread(target=self._open, name="worker pool opens", daemon=True)
        self._dispatcher: Dispatcher | None = None
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Have the server start, and go on meanwhile."""
        if not self._is_local:
            return
        try:
            self._thread.start()
        except RuntimeError as error:
            self._error = error
        else:
            # Who imports at once would leave the thread no time.
            self._began.wait()

    def dispatcher(self, terms: PoolTerms) -> Dispatcher:
        """Have workers started; returns who gives them their tasks."""
        if self._is_local:
            # Imported by the caller, who may hold the lock of an import itself.
            import coldfork.launch.pool.local.backend  # noqa: F401

            self._handed.put(terms)
            if self._thread.ident is not None:
                self._thread.join()
        else:
            from coldfork.launch.pool.on_ray.backend import RayBackend

            # What connects to a cluster asks for the main thread.
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
        """Nobody has the pool any more: it ends when what it has taken on is done."""
        self._is_abandoned = True
        self._handed.put(None)
        if self._dispatcher is not None and os.getpid() == self._home:
            self._dispatcher.close(cancel=False)


def check_backend(backend: str, max_memory: object, log_dir: object, max_device_memory: object) -> None:
    """Refuse a backend that there is none of, or that cannot keep these terms."""
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}; it is one of {', '.join(BACKENDS)}")
    if backend == RAY:
        from coldfork.launch.pool.on_ray.cluster import ray_package, refuse_what_ray_lacks

        ray_package()
        refuse_what_ray_lacks(max_memory, log_dir, max_device_memory)


def usual_workers(backend: str) -> int:
    """So many workers a pool has unless it is told: one for each processor that it may use."""
    if backend == LOCAL:
        return len(os.sched_getaffinity(0))
    from coldfork.launch.pool.on_ray.cluster import cluster

    cluster().connect()
    return cluster().processors()


@cache
def _living(home: int) -> weakref.WeakSet[Dispatcher]:
    """The pools of this process, which are waited for at its end as those of `concurrent.futures` are."""
    living: weakref.WeakSet[Dispatcher] = weakref.WeakSet()

    def end() -> None:
        if os.getpid() != home:
            # A child of this process has it with its memory, and none of the threads that it waits for.
            return
        for dispatcher in list(living):
            # After a Ctrl-C that nobody has caught, nobody waits for what was to be done.
            interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt
            dispatcher.close(cancel=interrupted, kill=interrupted)
        for dispatcher in list(living):
            dispatcher.await_end()

    # Before threads are waited for, as `concurrent.futures` does it: functions of `atexit` come too late.
    threading._register_atexit(end)  # type: ignore[attr-defined]
    return living
