"""Does the work of each job in a warm worker of a `coldfork.WorkerPool`, forked before the job came."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Mapping
from typing import Any

import coldfork
from speech_notes import engines
from speech_notes.engines.processing import read
from speech_notes.jobs import Ending, State
from speech_notes.launch import in_worker
from speech_notes.launch.launcher import Tell
from speech_notes.launch.steps import Hearing
from speech_notes.settings import Settings

NO_DEVICES = (None, "", "none")
_log = logging.getLogger("uvicorn.error")


class Pooled:
    """Has tasks done by a pool whose workers do one each: what a job leaves behind ends with it.

    The next worker is forked as soon as one has ended, and is there before the next job, if that is not very
    quick. It has imported what takes long, and nothing that another job has touched.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._steps = settings.data / "steps"
        # What an attempt that died with its server has left there belongs to nobody.
        shutil.rmtree(self._steps, ignore_errors=True)
        self._steps.mkdir(mode=0o700, parents=True)
        self._logs = settings.data / "workers"
        self._heavy = _heavy(settings)
        self._pool = self._opened()
        try:
            self._pool.wait(1)
        except coldfork.PoolBrokenError as error:
            self._pool.kill()
            # An engine whose import starts a thread, for instance, can be imported by each worker alone.
            _log.warning("each job imports its engine anew, because %s", error)
            self._heavy = []
            self._pool = self._opened()
            self._pool.wait(1)

    def _opened(self) -> coldfork.WorkerPool:
        """A pool that belongs to this thread, which has to be the server's first one: it ends with it."""
        settings = self._settings
        return coldfork.WorkerPool(
            settings.workers,
            preload=[in_worker.__name__, *self._heavy],
            devices=None if settings.devices in NO_DEVICES else settings.devices,
            env={"CUDA_VISIBLE_DEVICES": "-1"} if settings.devices in NO_DEVICES[1:] else None,
            timeout=settings.timeout,
            max_tasks=1,
            initializer=in_worker.ready,
            initargs=(settings.virtual,),
            log_dir=self._logs,
        )

    async def run(self, transcript: str, name: str, tell: Tell) -> Ending:
        """Have a worker do it; a job that is cancelled is killed with its worker, which is replaced."""
        if self._pool.health().broken:
            # What broke it may be mended by now; a job that has failed of it is not done again.
            await asyncio.to_thread(self._pool.kill)
            self._pool = self._opened()
        settings = self._settings
        file = self._steps / name
        work = in_worker.Work(
            transcript, settings.engine, settings.model, settings.virtual is not None, str(file)
        )
        began = time.monotonic()
        done: in_worker.Done | coldfork.ColdforkError
        with Hearing(file, tell):
            future = self._pool.submit(in_worker.do, work)
            try:
                done = await asyncio.wrap_future(future)
            except asyncio.CancelledError:
                future.kill()
                await asyncio.gather(asyncio.wrap_future(future), return_exceptions=True)
                raise
            except coldfork.ColdforkError as error:
                done = error
        process = {
            "launch": "pool",
            "pid": future.worker,
            "seconds": round(time.monotonic() - began, 4),
        }
        ending = _died(done, process) if isinstance(done, coldfork.ColdforkError) else _ending(done, process)
        if ending.state is not State.DONE:
            _log.warning("what the workers of the pool wrote is in %s", self._logs)
        return ending

    def health(self) -> Mapping[str, Any]:
        """How the pool stands; it is fit as long as workers can be started."""
        health = self._pool.health()
        return {
            "fit": not (health.broken or health.closed or (health.failures and not health.warm)),
            "says": str(health),
            "workers": health.workers,
            "warm": health.warm,
            "busy": health.busy,
            "starting": health.starting,
            "pids": health.pids,
            "done": health.counts.done,
            "failed": health.counts.failed,
            "died": health.counts.died,
        }

    def close(self) -> None:
        """End the workers."""
        self._pool.kill()


def _ending(done: in_worker.Done, process: Mapping[str, Any]) -> Ending:
    process = {
        **process,
        "start_method": done.start_method,
        "enforced": done.start_method == in_worker.METHOD,
        "awake": list(done.awake),
    }
    note = None if done.note is None else read(done.note)
    if note is None:
        return Ending(State.FAILED, error=done.error or "the engine made no note", process=process)
    return Ending(State.DONE, note=note, process=process)


def _died(error: coldfork.ColdforkError, process: Mapping[str, Any]) -> Ending:
    """Return how a task ended that did not finish, from the pool's error."""
    name = error.signal if isinstance(error, coldfork.WorkerDiedError) else None
    state = State.FAILED if name is None else State.KILLED
    return Ending(state, error=str(error), signal=name, process=process)


def _heavy(settings: Settings) -> list[str]:
    """Return the slow imports that a worker should find done: the engine's module, and those it names."""
    kind = engines.find(settings.engine)
    named = [kind.__module__, *getattr(kind, "preload", ())]
    return [*named, "torch"] if settings.virtual is not None else named
