"""Does the work of each job in a script that is started for it, isolated by coldfork."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import coldfork
from coldfork import ScriptResult
from speech_notes.engines.processing import LARGEST_NOTE, read
from speech_notes.jobs import Ending, State
from speech_notes.launch.launcher import Tell
from speech_notes.settings import Settings

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "post.py"
GRACE = 2.0
RUNS_KEPT = 20

_log = logging.getLogger("uvicorn.error")


class Isolated:
    """Runs `scripts/post.py` with `coldfork.arun_script`, in an interpreter of its own without `warm`."""

    def __init__(self, settings: Settings, warm: Sequence[str] = ()) -> None:
        self._settings = settings
        self._warm = warm
        self._runs = settings.data / "runs"
        self._notes = settings.data / "notes"
        # What an attempt that died with its server has left there belongs to nobody.
        shutil.rmtree(self._notes, ignore_errors=True)
        self._notes.mkdir(mode=0o700, parents=True)

    def health(self) -> None:
        """It keeps nothing ready."""

    def close(self) -> None:
        """It keeps nothing ready."""

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
                warm=self._warm,
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
            "warm": result.warm,
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


def _note(file: Path) -> dict[str, Any] | None:
    """Return what the script wrote, if it has the agreed form."""
    try:
        return read(file.read_bytes()) if file.stat().st_size <= LARGEST_NOTE else None
    except OSError:
        return None


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
