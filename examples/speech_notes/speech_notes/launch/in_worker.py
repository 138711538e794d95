"""The work of a pool's worker: loading its engine, and processing one transcript."""

from __future__ import annotations

import json
import multiprocessing
import traceback
from contextlib import closing
from dataclasses import dataclass

import coldfork
from speech_notes.engines import EngineError, make
from speech_notes.engines.devices import claim
from speech_notes.engines.processing import LARGEST_NOTE, process
from speech_notes.launch.steps import Telling

METHOD = "spawn"


@dataclass(frozen=True, slots=True)
class Work:
    """A request for work."""

    transcript: str
    engine: str
    model: str | None
    device: bool
    """Whether a device is to be claimed first."""
    steps: str
    """The named pipe that hears how far it is."""


@dataclass(frozen=True, slots=True)
class Done:
    """A result. Plain data: to read an engine's exception, the server would import its modules."""

    note: bytes | None
    error: str | None
    awake: tuple[str, ...]
    start_method: str | None


def ready(virtual: str | None) -> None:
    """Before the first task: what an engine starts is started by spawn, as in a script of `run_script`."""
    coldfork.get_context(METHOD, apply_env=True)
    multiprocessing.set_start_method(METHOD, force=True)
    if virtual is not None:
        # The virtual device stands for one of the machine: each worker finds it, cold.
        coldfork.virtual.install(virtual)


def do(work: Work) -> Done:
    """Do it; whatever the engine raises is told as text."""
    note, error = None, None
    try:
        if work.device:
            claim("cuda")
        with closing(Telling(work.steps)) as tell:
            written = process(work.transcript, lambda: make(work.engine, work.model), tell)
        content = json.dumps(written).encode()
        if len(content) <= LARGEST_NOTE:
            note = content
        else:
            error = f"the note has {len(content)} bytes, which is too much"
    except EngineError as failure:
        error = str(failure)
    except BaseException as failure:
        traceback.print_exc()
        error = f"{type(failure).__name__}: {failure}"
    awake = tuple(one.accelerator for one in coldfork.state() if one.status == "awake")
    return Done(note, error, awake, multiprocessing.get_start_method(allow_none=True))
