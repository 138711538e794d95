"""The code of an engine process, the only one that loads torch."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from sharing.store import Store


@dataclass(frozen=True)
class Setting:
    """The settings that an engine is given once."""

    model: Path | None = None
    device: str = "cpu"
    dies_at: int | None = None
    """The block in the middle of which this engine is killed: the fault that the store must bear."""


@dataclass(frozen=True)
class Job:
    """A request to an engine; with `alone` it reads no memory but its own."""

    prompt: list[int]
    count: int
    alone: bool = False


def main(jobs: Connection, store: Store, setting: Setting) -> None:
    """Do what is asked until nobody asks any more."""
    engine, failure = _made(setting)
    while (job := _next(jobs)) is not None:
        jobs.send(failure or _done(engine, job, store, setting))


def _made(setting: Setting) -> tuple[Any, str | None]:
    """The engine, or why there is none."""
    try:
        from sharing.engine import Engine

        return Engine(setting.model, setting.device), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _done(engine: Any, job: Job, store: Store, setting: Setting) -> Any:
    try:
        memory = None if job.alone else store
        return engine.generate(job.prompt, job.count, memory, _fault(setting.dies_at))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _next(jobs: Connection) -> Job | None:
    """The next job; None when there will be no more, or who asked has ended."""
    parent = parent_process()
    watched: list[Any] = [jobs] if parent is None else [jobs, parent.sentinel]
    if jobs not in wait(watched):
        return None
    try:
        job: Job | None = jobs.recv()
    except EOFError:
        return None
    return job


def _fault(dies_at: int | None) -> Callable[[int], None] | None:
    if dies_at is None:
        return None

    def halfway(block: int) -> None:
        if block == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    return halfway
