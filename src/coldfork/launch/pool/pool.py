"""The pool as its caller has it: an executor of `concurrent.futures` whose tasks fail one at a time."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from itertools import chain, count
from logging import getLogger
from multiprocessing import process
from pathlib import Path
from typing import Any

from coldfork.launch.pool.backends import LOCAL, check, opened, usual_workers
from coldfork.launch.pool.calls import awaited, call_all, chunked, mapped, streamed
from coldfork.launch.pool.errors import PoolError
from coldfork.launch.pool.tasks import PoolFuture, Task
from coldfork.launch.pool.terms import PoolTerms
from coldfork.launch.pool.transport.payloads import pack
from coldfork.launch.pool.transport.pickling import by_reference, by_value
from coldfork.launch.pool.working.main_module import preparation
from coldfork.launch.supervisor.limits import parse_size
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from coldfork.launch.lease.leases import DevicesWanted
    from coldfork.launch.pool.backends import Crew
    from coldfork.launch.pool.durations import Durations
    from coldfork.launch.pool.health import PoolHealth
    from coldfork.launch.pool.progress import Progress
    from coldfork.launch.pool.terms import Lease

_LOG = getLogger("coldfork")


class WorkerPool(Executor):
    """Runs functions in warm processes that are started in milliseconds, and fail one at a time.

    `workers` processes are forked from a server that has imported what `preload` names and has proven itself
    clean: see `coldfork.zygote`. `env` is added to their environment before the server's interpreter starts.
    `devices` gives each worker devices of its own. `initializer` is called with `initargs` in each of them.

    A task that runs longer than `timeout` seconds is ended with its worker, which is replaced; `submit` takes
    a `timeout` for one task. A worker is replaced after `max_tasks` tasks, and when it holds much of
    `max_memory`; one that comes to hold more is killed. No task is ever run twice unless `retries` says how
    often it may be when its worker dies.

    Each of them may hold `max_device_memory` of each device, where MPS or a framework can be told.

    What workers write goes to a file for each of them in `log_dir`, else to standard error. A file that would
    grow beyond `most_logged` is set aside as `worker-0.older.log`, in place of the one set aside before.

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
    ) -> None:
        _refuse_in_import()
        self._timeout = _seconds("timeout", timeout)
        self._retries = retries
        if retries < 0:
            raise UsageError(
                f"retries is how often a task may be done again, and {retries} is no such number"
            )
        check(backend, max_memory=max_memory, log_dir=log_dir, max_device_memory=max_device_memory)
        if initializer is not None and not callable(initializer):
            raise UsageError("initializer has to be something that can be called")
        workers = _counted("workers", workers, None) or usual_workers(backend)
        is_local = backend == LOCAL
        env = _capped(env or {}, max_device_memory)
        terms = PoolTerms(
            workers=workers,
            preload=preload,
            # The nodes of a cluster have no such file, or another one.
            main=preparation() if is_local else {},
            env=dict(env),
            initializer=initializer,
            initargs=tuple(initargs),
            max_memory=None if max_memory is None else parse_size(max_memory, "max_memory"),
            max_tasks=_counted("max_tasks", max_tasks, None),
            max_queue=_counted("max_queue", max_queue, None),
            log_dir=None if log_dir is None else _log_folder(log_dir),
            most_logged=parse_size(most_logged, "most_logged"),
        )
        self._workers = workers
        self._dumps = by_reference if terms.main else by_value
        self._home = os.getpid()
        self._numbers = count(1)
        with ExitStack() as undoing:
            if is_local:
                # After all that may be refused, and given back where the pool cannot be opened.
                terms = replace(terms, leases=_leases(devices, workers, env))
                for lease in terms.leases:
                    undoing.callback(lease.release)
            self._crew = opened(backend, terms, devices)
            undoing.pop_all()
        self._submit = self._crew.dispatcher.submit
        self._kill = self._crew.dispatcher.kill
        self._closed = weakref.finalize(self, _abandon, self._crew, os.getpid())
        self._closed.atexit = False
        _end_at_exit(self._crew)

    def submit(  # type: ignore[override]
        self, fn: Callable[..., Any], /, *args: Any, timeout: float | None = None, **kwargs: Any
    ) -> PoolFuture:
        """Have a worker call this function; returns its future.

        It is pickled now, so that what is changed afterwards makes no difference. `timeout` is in seconds
        from when a worker begins with it, and is not handed to the function.
        """
        if self._home != os.getpid():
            raise PoolError(f"this pool belongs to process {self._home}, which forked this one")
        future = PoolFuture()
        timeout = self._timeout if timeout is None else _seconds("timeout", timeout)
        try:
            # Each memory file needs a descriptor, and whoever waits may wait without.
            payload = pack((fn, args, kwargs), self._dumps, keep=self._crew.dispatcher.many_wait)
        except Exception as error:
            # As every executor does it, so that one call among many that cannot be sent fails alone.
            future.set_running_or_notify_cancel()
            future.set_exception(error)
            return future
        task = Task(next(self._numbers), future, payload, timeout, self._retries)
        future._killer = partial(self._kill, task)
        try:
            self._submit(task)
        except BaseException:
            task.payload.close()
            raise
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        progress: Progress | bool = False,
    ) -> Iterator[Any]:
        """The results of a call for each group of arguments, in their order.

        `timeout` is how long the caller waits for all of them. With `chunksize`, so many calls are one task,
        which fails as one. With `buffersize`, so many tasks are submitted ahead of the results that are asked
        for. `progress` shows a bar on a terminal, or is called with how many tasks are done and how many are.
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

    async def arun(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """`submit`, and await its result; when that is cancelled, the task is killed."""
        return await awaited(self.submit(fn, *args, **kwargs))

    def astream(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        ahead: int | None = None,
        ordered: bool = True,
    ) -> AsyncIterator[Any]:
        """The results of a call for each group of arguments, for `async for`; in their order or as they come.

        So many calls are under way `ahead` of the results, twice as many as there are workers unless told.
        `timeout` is that of each task. What is under way when the loop is left is killed.
        """
        submit = partial(self.submit, fn, timeout=timeout)
        calls = zip(*iterables, strict=False)
        return streamed(submit, calls, ahead or 2 * self._workers, ordered=ordered)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; the workers end when those that were taken have been done.

        With `wait`, return when they have ended. With `cancel_futures`, what has not begun is cancelled.
        """
        if self._home == os.getpid():
            self._closed.detach()
            self._crew.dispatcher.close(cancel=cancel_futures)
            if wait and threading.current_thread() is not self._crew.thread:
                self._crew.over.wait()

    def kill(self) -> None:
        """End the pool now: what runs is killed, what waits is cancelled."""
        if self._home == os.getpid():
            self._closed.detach()
            self._crew.dispatcher.close(cancel=True, kill=True)
            if threading.current_thread() is not self._crew.thread:
                self._crew.over.wait()

    def wait(self, workers: int | None = None, timeout: float | None = None) -> WorkerPool:
        """Wait until all workers are ready, or so many; `PoolError` says why they are not."""
        wanted = self._crew.dispatcher.health().workers if workers is None else workers
        if not self._crew.dispatcher.await_workers(wanted, timeout):
            raise PoolError(f"{wanted} workers were not ready within {timeout:g} s: {self.health()}")
        return self

    def health(self) -> PoolHealth:
        """How the pool stands: who is warm, at work or starting, and why workers could not be started."""
        return self._crew.dispatcher.health()

    def _measure(self) -> tuple[Durations, Callable[[], PoolHealth]]:
        """Where durations are counted from now on, and who tells the rest, also when nobody has the pool."""
        return self._crew.dispatcher.measure(), self._crew.dispatcher.health

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


def _leases(devices: DevicesWanted, workers: int, env: Mapping[str, str | None]) -> tuple[Lease, ...]:
    """A lease for each worker, on devices that this process and they may see."""
    if devices is None:
        return ()
    from coldfork.launch.lease.leases import take

    seen = {name: value for name, value in {**os.environ, **env}.items() if value is not None}
    return tuple(take(devices, workers, seen))


def _capped(env: Mapping[str, str | None], max_device_memory: int | str | None) -> Mapping[str, str | None]:
    """What is set for the workers, with a cap on what each of them may hold of each device."""
    if max_device_memory is None:
        return env
    from coldfork.launch.lease.memory_cap import cap

    seen = {name: value for name, value in {**os.environ, **env}.items() if value is not None}
    found = cap(parse_size(max_device_memory, "max_device_memory"), seen, sys.executable)
    if not found.by:
        _LOG.warning("no device memory cap: %s", found.why_not)
    return {**env, **found.variables}


def _refuse_in_import() -> None:
    """Refuse to start workers in a worker that only imports its caller's main module."""
    if getattr(process.current_process(), "_inheriting", False):
        raise PoolError(
            "a worker imports the main module, and its top level starts a pool of its own; put what the "
            'program does under `if __name__ == "__main__":`'
        )


def _counted(name: str, value: int | None, otherwise: int | None) -> int | None:
    if value is None:
        return otherwise
    if isinstance(value, bool) or value != int(value) or value < 1:
        raise UsageError(f"{name} has to be a whole number from 1 on, and not {value!r}")
    return value


def _seconds(name: str, value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise UsageError(f"{name} is in seconds and more than 0, and not {value!r}")
    return value


def _log_folder(path: str | os.PathLike[str]) -> Path:
    folder = Path(os.path.abspath(os.fsdecode(path)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder of logs {folder}: {error.strerror}") from None
    return folder


def _abandon(crew: Crew, home: int) -> None:
    """Nobody has the pool any more: it ends when what it has taken on is done."""
    if os.getpid() == home:
        crew.dispatcher.close(cancel=False)


@cache
def _living(home: int) -> weakref.WeakSet[Crew]:
    """The crews of this process, which are waited for at its end as those of `concurrent.futures` are."""
    living: weakref.WeakSet[Crew] = weakref.WeakSet()

    def end() -> None:
        if os.getpid() != home:
            # A child of this process has it with its memory, and none of the threads that it waits for.
            return
        for crew in list(living):
            # After a Ctrl-C that nobody has caught, nobody waits for what was to be done.
            interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt
            crew.dispatcher.close(cancel=interrupted, kill=interrupted)
        for crew in list(living):
            crew.over.wait()

    # Before threads are waited for, as `concurrent.futures` does it: functions of `atexit` come too late.
    threading._register_atexit(end)  # type: ignore[attr-defined]
    return living


def _end_at_exit(crew: Crew) -> None:
    _living(os.getpid()).add(crew)
