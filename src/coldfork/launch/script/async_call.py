"""Run an isolated script from an event loop without ever blocking it."""

from __future__ import annotations

import asyncio
import os
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from coldfork.launch.script.attempts import Attempts, StandardInput
from coldfork.launch.script.call import checked
from coldfork.launch.script.environment import processors
from coldfork.launch.script.following import Following, begin
from coldfork.launch.script.output_lines import OutputLine
from coldfork.launch.script.request import ScriptRequest, taking
from coldfork.launch.script.result import ScriptResult
from coldfork.launch.supervisor.protocol import LONGEST
from coldfork.launch.supervisor.report_file import Report

LONGEST_TURN_SECONDS = 2.0
"""An interpreter that has not started by then is not waiting for a processor."""


class Turns:
    """The turns of one event loop, which limit how many scripts start at once."""

    def __init__(self, at_once: int) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def mine(self) -> Turn:
        """Wait for a turn; waiting scripts are served in order."""
        await self._free.acquire()
        return Turn(self._free)


class Turn:
    """One script's turn to start; it is over at the end of the `with` block at the latest."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free: asyncio.Semaphore | None = free
        self._timer = asyncio.get_running_loop().call_later(LONGEST_TURN_SECONDS, self.over)

    def __enter__(self) -> Turn:
        return self

    def __exit__(self, *_: object) -> None:
        self.over()

    def over(self) -> None:
        """End the turn, so that the next script may start; do nothing if it is already over."""
        free, self._free = self._free, None
        if free is not None:
            self._timer.cancel()
            free.release()


class TurnsByLoop:
    """The turns of each event loop; they are separate because a loop cannot wake a task that waits in
    another.
    """

    def __init__(self) -> None:
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()

    def here(self) -> Turns:
        """Return the turns of the running loop."""
        loop = asyncio.get_running_loop()
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = Turns(_at_once())
        return turns


def _at_once() -> int:
    """Return how many scripts may start at once: one per processor, but at least two, as disks are slow."""
    return max(2, processors())


T = TypeVar("T")
_STARTERS = 2
_TURNS = TurnsByLoop()


class ScriptRun(Coroutine[Any, Any, ScriptResult]):
    """An isolated script, which runs when it is awaited or while `async for` reads its lines.

    It is a coroutine like that of any `async def`: it can be awaited, gathered and made a task.
    """

    def __init__(self, request: ScriptRequest) -> None:
        self._request = request
        self._on_line = request.on_line
        self._following: Following | None = None
        self._attempts: list[Following] = []
        self._over: set[Following] = set()
        """The attempts that have written their last line."""
        self._alarm: _Alarm | None = None
        self._cancelled = 0
        self._task: asyncio.Task[ScriptResult] | None = None
        self._news: asyncio.Event | None = None
        self._whole = self._run()

    # --- the methods of a coroutine, for event loops ---

    def send(self, value: Any) -> Any:
        """Continue the run, as a coroutine's `send` does."""
        return self._whole.send(value)

    def throw(self, *error: Any) -> Any:
        """Continue the run with an error, as a coroutine's `throw` does."""
        return self._whole.throw(*error)

    def close(self) -> None:
        """End the run, as a coroutine's `close` does."""
        self._whole.close()

    def __await__(self) -> Generator[Any, Any, ScriptResult]:
        return (self._task or self._whole).__await__()

    # --- lines ---

    async def __aiter__(self) -> AsyncIterator[OutputLine]:
        """Run the script, and yield its lines; awaiting the object afterwards returns the result."""
        news = self._news = asyncio.Event()
        task = self._task = asyncio.create_task(self._run())
        task.add_done_callback(lambda _: news.set())
        self._whole.close()
        try:
            while not task.done():
                await news.wait()
                news.clear()
                for line in self._lines():
                    yield line
            for line in self._lines():
                yield line
        except CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            if task.done():
                for following in self._attempts:
                    following.lines.close()
        if task.exception() is not None:
            task.result()

    def _lines(self) -> Iterator[OutputLine]:
        """Yield the lines that have not been yielded yet, one attempt after another."""
        while self._attempts:
            first = self._attempts[0]
            last = first in self._over
            yield from first.lines.all(last=last)
            if not last:
                return
            first.lines.close()
            self._attempts.remove(first)

    # --- the run ---

    async def _run(self) -> ScriptResult:
        attempts = Attempts(self._request.retries)
        given = StandardInput(self._request.stdin, again=attempts.most > 1)
        while True:
            result, report = await self._attempt(given, attempts.made)
            if not attempts.goes_on(report):
                return checked(result, check=self._request.check)

    async def _attempt(
        self, given: StandardInput, earlier: Sequence[Mapping[str, Any]]
    ) -> tuple[ScriptResult, Report]:
        self._following = None
        with await _TURNS.here().mine() as turn:
            following = self._following = await self._in_thread(
                lambda: begin(self._request, given, earlier, streamed=True)
            )
            self._attempts.append(following)
            try:
                error = await self._follow(following, turn)
                result = await self._in_thread(following.result)
                if error is None and self._on_line is not None and not self._cancelled:
                    await self._give_out(following, last=True)
            finally:
                self._over.add(following)
                if self._news is None:
                    following.lines.close()
        if self._cancelled:
            raise CancelledError
        if error is not None:
            raise error
        return result, following.report

    async def _follow(self, following: Following, turn: Turn) -> BaseException | None:
        """Read the supervisor's messages until the script has ended; return a failed callback's error."""
        loop = asyncio.get_running_loop()
        following.supervised.socket.setblocking(False)
        if self._cancelled:
            following.end("cancelled")
        with _Alarm(loop, following) as self._alarm:
            return await self._hear(loop, following, turn)

    async def _hear(
        self, loop: asyncio.AbstractEventLoop, following: Following, turn: Turn
    ) -> BaseException | None:
        failed: BaseException | None = None
        while True:
            try:
                message = await self._message(loop, following)
                if not following.take(message, quietly=failed is not None):
                    return failed
                if message is not None and message["is"] == "started":
                    self._set_alarm()
                if following.up:
                    turn.over()
                if failed is None:
                    await self._tell(following)
            except CancelledError:
                self._cancel()
            except Exception as error:
                failed = error
                following.end("cancelled")
                self._set_alarm()

    async def _message(self, loop: asyncio.AbstractEventLoop, following: Following) -> dict[str, Any] | None:
        try:
            message = await loop.sock_recv(following.supervised.socket, LONGEST)
        except ConnectionResetError:
            return None
        return following.supervised.heard(message) if message else None

    async def _tell(self, following: Following) -> None:
        if self._news is not None:
            self._news.set()
        if self._on_line is not None:
            await self._give_out(following, last=False)

    async def _give_out(self, following: Following, *, last: bool) -> None:
        assert self._on_line is not None
        while True:
            for line in following.lines.read(last=last):
                self._on_line(line)
            if not following.lines.behind():
                return
            await asyncio.sleep(0)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread; a cancellation meanwhile is recorded, but does not end the wait."""
        future = asyncio.get_running_loop().run_in_executor(_starters(os.getpid()), work)
        while not future.done():
            try:
                await asyncio.wait([future])
            except CancelledError:
                self._cancel()
        return future.result()

    def _cancel(self) -> None:
        self._cancelled += 1
        if self._following is None:
            return
        if self._cancelled == 1:
            self._following.end("cancelled")
        else:
            # A second cancellation means that the caller will not wait for a polite end.
            self._following.kill("cancelled")
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.set()


class _Alarm:
    """A timer that checks the caller's own deadlines while a script runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, following: Following) -> None:
        self._loop = loop
        self._clock = following.clock
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Future[None] | None = None
        self._over = False

    def __enter__(self) -> _Alarm:
        self.set()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        if self._timer is not None:
            self._timer.cancel()

    def set(self) -> None:
        """Schedule the next check according to the present state of the deadlines."""
        left = self._clock.left()
        if self._over or left is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(left, self._look)

    def _look(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = self._loop.run_in_executor(_starters(os.getpid()), self._clock.look)
            self._looking.add_done_callback(lambda _: self.set())


@cache
def _starters(_pid: int) -> ThreadPoolExecutor:
    """Return a small thread pool for all event loops of this process; a forked child gets its own."""
    return ThreadPoolExecutor(_STARTERS, thread_name_prefix="coldfork")


@taking(ScriptRequest)
def arun_script(request: ScriptRequest) -> ScriptRun:
    """Run a Python script as `run_script` does, from an event loop: `result = await arun_script(...)`.

    Cancelling the task ends the script and everything it started before the task is done. To read the lines
    of its output as they come:

        run = arun_script("scripts/post.py")
        async for line in run:
            print(line.stream, line.text)
        result = await run
    """
    return ScriptRun(request)


def _mark_as_coroutine_function() -> None:
    """Mark `arun_script` as a coroutine function, because frameworks would otherwise run it in a thread."""
    import inspect

    mark = getattr(inspect, "markcoroutinefunction", None)
    if mark is not None:
        mark(arun_script)
    else:
        arun_script._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]


_mark_as_coroutine_function()
