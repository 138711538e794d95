"""Does the work of a job in a process of its own: isolated by coldfork, or forked, to see it fail."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import coldfork
from coldfork import ScriptResult
from speech_notes.jobs import Ending, State
from speech_notes.settings import Settings

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "post.py"
GRACE = 2.0
RUNS_KEPT = 20
LARGEST_NOTE = 16 << 20

Tell = Callable[[int, int], object]
_log = logging.getLogger("uvicorn.error")


class Launcher(Protocol):
    """Starts the post-processing of one transcript and brings its ending."""

    async def run(self, transcript: str, name: str, tell: Tell) -> Ending:
        """Do the work; `name` is this attempt's own, `tell` hears how far it is."""


class Isolated:
    """Runs `scripts/post.py` with `coldfork.arun_script`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runs = settings.data / "runs"
        self._notes = settings.data / "notes"
        # What an attempt that died with its server has left there belongs to nobody.
        shutil.rmtree(self._notes, ignore_errors=True)
        self._notes.mkdir(mode=0o700, parents=True)

    async def run(self, transcript: str, name: str, tell: Tell) -> Ending:
        """Run the script, and read the file that it leaves."""
        settings = self._settings
        file = self._notes / f"{name}.json"
        words = ["--engine", settings.engine, "--result", str(file)]
        if settings.model is not None:
            words += ["--model", settings.model]
        if settings.virtual is not None:
            words += ["--device", "cuda"]
        try:
            result = await coldfork.arun_script(
                SCRIPT,
                words,
                devices=settings.devices,
                # The virtual device stands for one of the machine: the script finds it too, cold.
                env={"COLDFORK_VIRTUAL": settings.virtual} if settings.virtual is not None else None,
                stdin=transcript,
                timeout=settings.timeout,
                grace=GRACE,
                log_dir=self._runs,
                on_progress=tell,
            )
            return await asyncio.to_thread(self._ending, result, file)
        except asyncio.CancelledError:
            self._forget_old_runs()
            raise
        finally:
            file.unlink(missing_ok=True)
            file.with_suffix(".part").unlink(missing_ok=True)

    def _ending(self, result: ScriptResult, file: Path) -> Ending:
        process = {
            "launch": "isolated",
            "start_method": result.start_method,
            "enforced": result.enforced,
            "seconds": round(result.seconds, 3),
            "peak_memory_bytes": result.peak_memory_bytes,
            "awake": [one["accelerator"] for one in result.states or () if one["status"] == "awake"],
        }
        if result.signal is not None and result.outcome == "killed":
            return Ending(State.KILLED, error=result.explained(), signal=result.signal, process=process)
        note = _note(file) if result.ok else None
        if note is None:
            why = _why(result) if not result.ok else "the script succeeded, and left no note"
            self._forget_old_runs()
            _log.warning("what the script of a failed job wrote is in %s", result.run_dir)
            return Ending(State.FAILED, error=why, signal=result.signal, process=process)
        shutil.rmtree(result.run_dir, ignore_errors=True)
        return Ending(State.DONE, note=note, process=process)

    def _forget_old_runs(self) -> None:
        """Keep the directories of the youngest runs that went wrong: somebody will want to read them."""
        if not self._runs.exists():
            return
        ended = [path for path in self._runs.iterdir() if _state_of(path) not in ("started", None)]
        for path in sorted(ended)[:-RUNS_KEPT]:
            shutil.rmtree(path, ignore_errors=True)


class Forked:
    """The same work in a process forked from this one: what the server did before it had coldfork.

    It is here to be seen failing. In a child forked from a process that holds a device no engine can use it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

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
    """What runs in the forked child; a failure is sent as what it is."""
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


def _note(file: Path) -> dict[str, Any] | None:
    """What the script has written, if it is what was agreed on."""
    try:
        if file.stat().st_size > LARGEST_NOTE:
            return None
        note = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    lists = ("paragraphs", "summary", "remarks")
    if not isinstance(note, dict) or note.get("schema_version") != 1:
        return None
    whole = all(
        isinstance(note.get(name), list) and all(isinstance(one, str) for one in note[name]) for name in lists
    )
    return {name: note[name] for name in lists} if whole else None


def _why(result: ScriptResult) -> str:
    """Why a script did not succeed: its exception, else the last that it said on its standard error."""
    if result.exception is not None:
        return f"{result.exception['type']}: {result.exception['message']}"
    lines = result.stderr.strip().splitlines() if result.outcome == "failed" else []
    return f"{result.explained()}: {lines[-1]}" if lines else result.explained()


def _state_of(run: Path) -> str | None:
    try:
        state = json.loads((run / "report.json").read_text(encoding="utf-8")).get("state")
    except (OSError, ValueError):
        return None
    return str(state)


def launcher(settings: Settings) -> Launcher:
    """The launcher that was asked for."""
    return Forked(settings) if settings.launch == "fork" else Isolated(settings)


def explain_missing(settings: Settings) -> str | None:
    """Why jobs could not be run on this machine, if that is known before the first one."""
    if not sys.platform.startswith("linux"):
        return "an isolated script needs Linux: its supervisor reaps and ends what the script leaves behind"
    return None
