"""The pool as its caller sees it: an executor of `concurrent.futures` in which each task fails alone."""

from __future__ import annotations

import os
import weakref
from concurrent.futures import Executor
from functools import partial
from itertools import chain, count

from coldfork.launch.pool.arguments import (
    counted,
    environment,
    refuse_two_timeouts,
    require_callable,
    require_found,
    seconds,
    server_terms,
    workers_wanted,
)
from coldfork.launch.pool.calls import awaited, call_all, chunked, mapped, streamed
from coldfork.launch.pool.errors import PoolError
from coldfork.launch.pool.local.main_module import is_inheriting, preparation
from coldfork.launch.pool.opening import LOCAL, Opening, check_backend, usual_workers
from coldfork.launch.pool.task import PoolFuture, Task
from coldfork.launch.pool.wire import by_reference, by_value, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, ParamSpec, TypeVar, overload

    from coldfork.launch.devices.choice import DevicesWanted
    from coldfork.launch.pool.calls import Progress
    from coldfork.launch.pool.health import Durations, PoolHealth

    P = ParamSpec("P")
    T = TypeVar("T")


class WorkerPool(Executor):
    """An executor that runs functions in warm processes; these start in milliseconds, and each fails alone.

    `workers` processes are forked from a server that has imported the modules of `preload` and has been
    proven clean: see `coldfork.zygote`. `env` is added to their environment before the server's interpreter
    starts. `devices` gives each worker devices of its own. `initializer` is called with `initargs` in each
    worker.

    A task that runs longer than `timeout` seconds is ended with its worker, which is replaced; `submit` takes
    a `timeout` for one task. A worker is replaced after `max_tasks` tasks, or when it nears `max_memory`; a
    worker that exceeds `max_memory` is killed. A task is run again only if its worker dies, at most `retries`
    times, by default never.

    Each worker may hold `max_device_memory` of each device, if MPS or a framework can enforce that.

    Each worker's output goes to a file of its own in `log_dir`, else to standard error. A file that would
    exceed `most_logged` is renamed to `worker-0.older.log`, replacing the previous one.

    With `backend="ray"` the workers are actors on the nodes of a Ray cluster and import `preload` themselves.
    """

    def __init__(
        self,
        workers: int | None = None,
        preload: Sequence[str] | os.PathLike[str] = (),
        devices: DevicesWanted = None,
        env: Mapping[str, str | None] | None = None,
        timeout: float | None = None,
        max_tasks: int | None = None,
        max_memory: int | str | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Sequence[object] = (),
        backend: str = "local",
        *,
        max_queue: int | None = None,
        retries: int = 0,
        log_dir: str | os.PathLike[str] | None = None,
        most_logged: int | str = "16 MiB",
        max_device_memory: int | str | None = None,
        max_workers: int | None = None,
        mp_context: None = None,
    ) -> None:
        if is_inheriting():
            raise PoolError(
                "a worker imports the main module, and its top level starts a pool of its own; put the "
                'code of the program under `if __name__ == "__main__":`'
            )
        wanted = workers_wanted(workers, max_workers, mp_context)
        counted("retries", retries, least=0)
        given = environment(env)
        require_found(preload, given)
        check_backend(backend, max_memory, log_dir, max_device_memory)
        require_callable(initializer)
        if max_device_memory is not None:
            from coldfork.launch.pool.terms import capped

            given = capped(given, max_device_memory)
        # First, so that the server starts while this process is still importing modules.
        opening = Opening(backend, server_terms(preload, given))
        # Registered early, because a caller that is interrupted during the opening never gets a pool to
        # close.
        self._closed = weakref.finalize(self, opening.abandon)
        self._closed.atexit = False
        try:
            opening.begin()
            from coldfork.launch.pool.terms import PoolTerms, log_folder
            from coldfork.launch.supervisor.limits import parse_size

            self._terms = terms = PoolTerms(
                workers=wanted or usual_workers(backend),
                preload=preload,
                devices=devices,
                env=given,
                # On Ray's nodes the file of the main module is missing, or another one.
                main=preparation() if backend == LOCAL else {},
                timeout=seconds("timeout", timeout),
                initializer=initializer,
                initargs=tuple(initargs),
                max_memory=None if max_memory is None else parse_size(max_memory, "max_memory"),
                max_tasks=counted("max_tasks", max_tasks),
                max_queue=counted("max_queue", max_queue),
                retries=retries,
                log_dir=None if log_dir is None else log_folder(log_dir),
                most_logged=parse_size(most_logged, "most_logged"),
            )
            self._dispatcher = opening.dispatcher(terms)
        except BaseException:
            opening.abandon()
            raise
        self._dumps = by_reference if terms.main else by_value
        self._home = os.getpid()
        self._numbers = count(1)
        self._submit = self._dispatcher.submit
        self._kill = self._dispatcher.kill

    if TYPE_CHECKING:

        @overload
        def submit(
            self, fn: Callable[..., T], /, *args: Any, timeout: float | None, **kwargs: Any
        ) -> PoolFuture[T]: ...

        @overload
        def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> PoolFuture[T]: ...

    def submit(  # type: ignore[misc]
        self, fn: Callable[..., Any], /, *args: Any, timeout: float | None = None, **kwargs: Any
    ) -> PoolFuture[Any]:
        """Have a worker call a function; return the call's future.

        The call is pickled now, so later changes to its arguments have no effect. `timeout` counts the
        seconds from the moment a worker begins. It is not passed to the function: for a parameter of that
        name, use `functools.partial`.
        """
        if self._home != os.getpid():
            raise PoolError(
                f"this pool belongs to process {self._home}, which forked this one: make a pool in this "
                "process"
            )
        future: PoolFuture[Any] = PoolFuture()
        if timeout is None:
            timeout = self._terms.timeout
        else:
            timeout = seconds("timeout", timeout)
            refuse_two_timeouts(fn)
        try:
            # Each memory file takes up a descriptor, so those of waiting tasks are made only when the tasks
            # are sent.
            payload = pack((fn, args, kwargs), self._dumps, keep=self._dispatcher.many_wait)
        except Exception as error:
            # Like in every executor: a call that cannot be sent fails alone, through its future.
            future.set_running_or_notify_cancel()
            future.set_exception(error)
            return future
        task = Task(next(self._numbers), future, payload, timeout, self._terms.retries)
        future._killer = partial(self._kill, task)
        try:
            self._submit(task)
        except BaseException:
            task.payload.close()
            raise
        return future

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        progress: Progress | bool = False,
    ) -> Iterator[T]:
        """Return an iterator over the results of a call for each group of arguments, in order.

        `timeout` limits how long the caller waits for all results. With `chunksize`, that many calls form one
        task, which fails as a whole. With `buffersize`, that many tasks are submitted ahead of the results
        that have been requested. `progress` shows a bar on a terminal; a function is called with the number
        of finished tasks and the number of all tasks.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        calls = zip(*iterables, strict=False)
        if chunksize == 1:
            return mapped(partial(self.submit, fn), calls, timeout, buffersize, progress)
        chunks = ((chunk,) for chunk in chunked(calls, chunksize))
        lists = mapped(partial(self.submit, call_all, fn), chunks, timeout, buffersize, progress)
        return chain.from_iterable(lists)

    if TYPE_CHECKING:

        @overload
        async def arun(
            self, fn: Callable[..., T], /, *args: Any, timeout: float | None, **kwargs: Any
        ) -> T: ...

        @overload
        async def arun(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def arun(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Submit a call and await its result; if the awaiting coroutine is cancelled, kill the task."""
        return await awaited(self.submit(fn, *args, **kwargs))

    def astream(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        ahead: int | None = None,
        ordered: bool = True,
    ) -> AsyncIterator[T]:
        """Yield the results of a call for each group of arguments, in order or as they finish.

        `ahead` is the number of calls in progress at once, by default twice the number of workers. `timeout`
        applies to each task. Calls that are in progress when the loop is left are killed.
        """
        submit = partial(self.submit, fn, timeout=timeout)
        calls = zip(*iterables, strict=False)
        return streamed(submit, calls, ahead or 2 * self._terms.workers, ordered=ordered)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more tasks; the workers end when the accepted ones are done.

        With `wait`, return when the workers have ended. With `cancel_futures`, cancel tasks that have not
        begun.
        """
        if self._home == os.getpid():
            self._dispatcher.close(cancel=cancel_futures)
            self._closed.detach()
            if wait:
                self._dispatcher.await_end()

    def kill(self) -> None:
        """End the pool now: kill running tasks, cancel waiting ones."""
        if self._home == os.getpid():
            self._dispatcher.close(cancel=True, kill=True)
            self._closed.detach()
            self._dispatcher.await_end()

    def wait(self, workers: int | None = None, timeout: float | None = None) -> WorkerPool:
        """Wait until all workers, or this many, are ready; raise `PoolError` if that cannot happen."""
        wanted = self._dispatcher.health().workers if workers is None else workers
        if not self._dispatcher.await_workers(wanted, timeout):
            raise PoolError(f"{wanted} workers were not ready within {timeout:g} s: {self.health()}")
        return self

    @property
    def _max_workers(self) -> int:
        """Return the number of workers, under the name that dask and others look up in an executor."""
        return self._terms.workers

    def health(self) -> PoolHealth:
        """Return the pool's state: which workers are warm, busy or starting, and why starts have failed."""
        return self._dispatcher.health()

    def _measure(self) -> tuple[Durations, Callable[[], PoolHealth]]:
        """Count durations from now on; return them, and a health function that keeps no pool alive."""
        return self._dispatcher.measure(), self._dispatcher.health

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.kill()
        else:
            self.shutdown(wait=True)
        return None

    def __repr__(self) -> str:
        return f"<coldfork.WorkerPool: {self.health()}>"
