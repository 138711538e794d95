"""Takes jobs and has them done, a few at a time."""

from __future__ import annotations

import asyncio
import logging

from speech_notes.jobs import Ending, Job, State
from speech_notes.launch.launcher import Launcher
from speech_notes.settings import Settings
from speech_notes.store import Store
from speech_notes.watching import Watching

LOOK_AGAIN = 5.0
"""Seconds after which a worker looks for jobs that nobody told it of."""
_log = logging.getLogger("uvicorn.error")


class Running:
    """The workers of one server; each does one job at a time in a process of its own."""

    def __init__(self, settings: Settings, store: Store, launcher: Launcher, watching: Watching) -> None:
        self._settings = settings
        self._store = store
        self._launcher = launcher
        self._watching = watching
        self._news = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._at_work: dict[str, asyncio.Task[Ending]] = {}
        """What is being done for each job that runs."""

    def start(self) -> None:
        """Begin to take jobs."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._settings.workers)]

    async def stop(self) -> None:
        """End what runs and put it back into the queue."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    def look(self) -> None:
        """There is a new job."""
        self._news.set()

    async def cancel(self, name: str) -> None:
        """End a job that waits or runs, and return when it has ended; one that has ended stays as it is."""
        await asyncio.to_thread(self._store.cancel, name)
        # From here on whoever takes it up sees that it is cancelled; who is at work on it is told.
        work = self._at_work.get(name)
        if work is not None:
            work.cancel()
            await asyncio.wait([work])
        self._watching.over(name)

    @property
    def alive(self) -> int:
        """How many workers are at work or ready for it."""
        return sum(1 for worker in self._workers if not worker.done())

    async def _work(self) -> None:
        while True:
            try:
                await self._once()
            except Exception:
                # A full disk, for instance. Whoever stops working for it would look alive and do nothing.
                _log.exception("a worker could not go on, and tries again")
                await asyncio.sleep(LOOK_AGAIN)

    async def _once(self) -> None:
        """Do a job, or wait for one."""
        self._news.clear()
        taken = await self._take()
        if taken is not None:
            await self._do(*taken)
            return
        try:
            await asyncio.wait_for(self._news.wait(), LOOK_AGAIN)
        except TimeoutError:
            pass

    async def _take(self) -> tuple[Job, str] | None:
        taking = asyncio.ensure_future(asyncio.to_thread(self._store.take))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            # The thread takes a job all the same, and nobody would do it.
            if (taken := await taking) is not None:
                self._store.put_back(taken[0])
            raise

    async def _do(self, job: Job, transcript: str) -> None:
        self._watching.changed(job.id)
        work = self._at_work[job.id] = asyncio.create_task(self._ending(job, transcript))
        try:
            ending = await work
        except asyncio.CancelledError:
            if _is_cancelled():
                self._store.put_back(job)
                raise
            _log.info("job %s: %s", job.id, State.CANCELLED)
            return
        finally:
            del self._at_work[job.id]
        try:
            await asyncio.to_thread(self._store.finish, job, ending)
        finally:
            self._watching.over(job.id)
        _log.info("job %s: %s%s", job.id, ending.state, f" ({ending.error})" if ending.error else "")
        await asyncio.to_thread(self._store.forget, self._settings.keep)

    async def _ending(self, job: Job, transcript: str) -> Ending:
        """Do the work of a job, unless it was cancelled when nobody was at work on it yet."""

        def tell(done: int, total: int) -> None:
            self._watching.advance(job.id, done, total)

        now = await asyncio.to_thread(self._store.job, job.id)
        if now is None or now.state is not State.RUNNING:
            raise asyncio.CancelledError
        try:
            return await self._launcher.run(transcript, f"{job.id}-{job.attempt}", tell)
        except Exception as error:
            _log.exception("the job %s could not be run", job.id)
            return Ending(State.FAILED, error=f"{type(error).__name__}: {error}")


def _is_cancelled() -> bool:
    """Whether the worker itself is to end, and not only the job that it is at."""
    worker = asyncio.current_task()
    return worker is not None and worker.cancelling() > 0
