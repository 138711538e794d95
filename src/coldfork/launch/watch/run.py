"""Runs a program under watch, as Python would run it, and completes its recording with how it ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from coldfork.launch import watched_process
from coldfork.launch.terminal import supervision
from coldfork.launch.terminal.supervision import Ending
from coldfork.launch.watch.python_command_line import PythonLine
from coldfork.observe.recording.events import encode

SMALLEST_LIMIT = 16 * 1024
#: Kept free for the line that we add when the program has ended.
_OWN_SHARE = 512


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """How to run a program, and what to record of it."""

    program: PythonLine
    recording: Path
    limit: int
    python: str = sys.executable
    follow: bool = False
    virtual: str | None = None
    """A virtual device, NAME or NAME:N; children get it too, and so are followed."""
    exact: tuple[str, ...] = ()
    """Modules inside which the exact line is looked for; `__main__` is the program's own file."""


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A program that was run: how it ended, and whether anything was recorded of it."""

    ending: Ending
    watched: bool


def run(plan: WatchPlan, base: Mapping[str, str] = os.environ) -> WatchedRun:
    """Run a program to its end."""
    began = monotonic()
    variables = watched_process.environment(_settings(plan, began), base, virtual=plan.virtual)
    child, ending = supervision.run([plan.python, *plan.program.words], variables)
    seen = plan.recording.stat().st_size > 0 if plan.recording.exists() else False
    if seen:
        _tell_end(plan, child, ending, monotonic() - began)
    return WatchedRun(ending, seen)


def _settings(plan: WatchPlan, began: float) -> dict[str, Any]:
    return {
        "mode": "run",
        "recording": str(plan.recording),
        "limit": plan.limit - _OWN_SHARE,
        "began": began,
        "device": f"virtual:{plan.virtual}" if plan.virtual else "real",
        "follow": plan.follow or plan.virtual is not None,
        "stage2": list(plan.exact),
    }


def _tell_end(plan: WatchPlan, child: int, ending: Ending, at: float) -> None:
    """Add to the recording what the program itself could not know: its status, or the signal it died from."""
    line = encode(
        {
            "event": "exit",
            "t": round(at, 6),
            "pid": child,
            "tid": child,
            "status": ending.status,
            "signal": ending.signal,
            "states": [],
        }
    )
    with suppress(OSError):
        # A program that died while it wrote left a line without its end.
        with plan.recording.open("rb+") as stream:
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
            stream.seek(size - 1)
            whole = stream.read(1) == b"\n"
        piece = line if whole else b"\n" + line
        if size + len(piece) <= plan.limit:
            with plan.recording.open("ab", buffering=0) as stream:
                stream.write(piece)
