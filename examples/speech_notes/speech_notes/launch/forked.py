"""Does the work of each job in a process forked from the server, to be seen failing."""

from __future__ import annotations

import asyncio
from typing import Any

from speech_notes.jobs import Ending, State
from speech_notes.launch.launcher import Tell
from speech_notes.settings import Settings


class Forked:
    """The same work in a process forked from this one: what the server did before it had coldfork.

    It is here to be seen failing. In a child forked from a process that holds a device no engine can use it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def health(self) -> None:
        """It keeps nothing ready."""

    def close(self) -> None:
        """It keeps nothing ready."""

    async def run(self, transcript: str, name: str, tell: Tell) -> Ending:
        """Fork, and wait for what the child sends."""
        import multiprocessing

        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_in_forked_child, args=(theirs, self._settings, transcript), name=name
        )
        process.start()
        theirs.close()
        loop = asyncio.get_running_loop()

        def told(done: int, total: int) -> None:
            loop.call_soon_threadsafe(tell, done, total)

        try:
            return await asyncio.wait_for(
                asyncio.to_thread(_hear, ours, process, told), self._settings.timeout
            )
        except TimeoutError:
            return Ending(State.FAILED, error=f"it took longer than {self._settings.timeout:g} s")
        finally:
            process.kill()


def _in_forked_child(pipe: Any, settings: Settings, transcript: str) -> None:
    """Run in the forked child; a failure is sent as it is."""
    from speech_notes.engines import make
    from speech_notes.engines.devices import claim
    from speech_notes.engines.processing import process

    try:
        if settings.virtual is not None:
            claim("cuda")
        note = process(
            transcript,
            lambda: make(settings.engine, settings.model),
            lambda done, total: pipe.send(("progress", (done, total))),
        )
        pipe.send(("note", note))
    except Exception as error:
        pipe.send(("error", f"{type(error).__name__}: {error}"))


def _hear(pipe: Any, process: Any, tell: Tell) -> Ending:
    """Read what the child sends until it has ended."""
    from multiprocessing.connection import wait

    heard: dict[str, Any] = {}
    open_still = True
    while open_still:
        ready = wait([pipe, process.sentinel])
        try:
            while pipe.poll():
                kind, value = pipe.recv()
                if kind == "progress":
                    tell(*value)
                else:
                    heard[kind] = value
        except EOFError:
            open_still = False
        if process.sentinel in ready:
            open_still = False
    process.join()
    told = {"launch": "fork"}
    if "note" in heard:
        return Ending(State.DONE, note=heard["note"], process=told)
    if "error" in heard:
        return Ending(State.FAILED, error=heard["error"], process=told)
    if (process.exitcode or 0) < 0:
        import signal

        name = signal.Signals(-process.exitcode).name
        return Ending(State.KILLED, error=f"the process was killed by {name}", signal=name, process=told)
    return Ending(State.FAILED, error=f"the process ended with status {process.exitcode}", process=told)
