"""Make many calls: in order, in chunks or as an asynchronous stream, with progress."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from time import monotonic

from coldfork.model.errors import leave_out_first_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from concurrent.futures import Future
    from typing import Any

    Progress = Callable[[int, int], object]
    Submit = Callable[..., Future[Any]]


def mapped(
    submit: Submit,
    calls: Iterator[tuple[Any, ...]],
    timeout: float | None,
    buffersize: int | None,
    progress: Progress | bool,
) -> Iterator[Any]:
    """Yield the results of calls in order; `buffersize` limits how many are submitted ahead.

    `timeout` limits the caller's total wait, as with every executor.
    """
    until = None if timeout is None else monotonic() + timeout
    ahead = deque(submit(*call) for call in itertools.islice(calls, buffersize))
    follow(ahead, progress)
    return _results(submit, calls, ahead, until)


def _results(
    submit: Submit, calls: Iterator[tuple[Any, ...]], ahead: deque[Future[Any]], until: float | None
) -> Iterator[Any]:
    try:
        while ahead:
            # Drop the future first, so that it does not keep the result alive.
            result = [_result(ahead.popleft(), until)]
            ahead.extend(submit(*call) for call in itertools.islice(calls, 1))
            yield result.pop()
    except BaseException as error:
        leave_out_first_frame(error)
        raise
    finally:
        for future in ahead:
            future.cancel()


def _result(future: Future[Any], until: float | None) -> Any:
    try:
        return future.result(None if until is None else until - monotonic())
    except BaseException as error:
        leave_out_first_frame(error)
        raise
    finally:
        future.cancel()
        del future


def chunked(calls: Iterable[tuple[Any, ...]], size: int) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Group calls into chunks of this size."""
    remaining = iter(calls)
    while chunk := tuple(itertools.islice(remaining, size)):
        yield chunk


def call_all(function: Callable[..., Any], chunk: tuple[tuple[Any, ...], ...]) -> list[Any]:
    """Make all calls of a chunk; this runs in a worker."""
    return [function(*arguments) for arguments in chunk]


async def awaited(future: Any) -> Any:
    """Await a task's result; if the awaiting coroutine is cancelled, kill the task."""
    import asyncio

    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        future.kill()
        raise


async def streamed(
    submit: Submit, calls: Iterator[tuple[Any, ...]], ahead: int, *, ordered: bool
) -> AsyncIterator[Any]:
    """Yield the results of calls, in order or as they finish, with `ahead` calls in progress at once."""
    import asyncio

    waiting: dict[asyncio.Future[Any], Any] = {}
    try:
        while True:
            for call in itertools.islice(calls, ahead - len(waiting)):
                future = submit(*call)
                waiting[asyncio.wrap_future(future)] = future
            if not waiting:
                return
            wanted = list(waiting)[:1] if ordered else list(waiting)
            await asyncio.wait(wanted, return_when=asyncio.FIRST_COMPLETED)
            done = next(one for one in wanted if one.done())
            del waiting[done]
            yield done.result()
    finally:
        for awaiting, future in waiting.items():
            # Cancelled, because asyncio would otherwise report every exception that nobody retrieved.
            awaiting.cancel()
            future.kill()


def follow(futures: Iterable[Future[Any]], progress: Progress | bool) -> None:
    """Report the number of finished futures, each time one finishes."""
    if not progress:
        return
    if callable(progress):
        tell = progress
    else:
        from coldfork.graphs.surroundings import ProgressBar

        tell = ProgressBar().show
    every = list(futures)
    lock = threading.Lock()
    done = 0

    def count(_: object) -> None:
        nonlocal done
        with lock:
            done += 1
            tell(done, len(every))

    for future in every:
        future.add_done_callback(count)
