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
from coldfork.launch.plumbing import terminal
from coldfork.launch.plumbing.terminal import Ending
from coldfork.launch.watch.bystander import Bystander
from coldfork.launch.watch.python_command_line import PythonLine
from coldfork.observe.processes.table import start_of
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
    beside: list[Bystander] = []

    def stand_beside(child: int) -> None:
        if plan.follow or plan.virtual is not None:
            beside.append(Bystander(plan.recording, child, began, lambda event: _add(plan, event)))
            beside[0].start()

    child, ending = terminal.run([plan.python, *plan.program.words], variables, stand_beside)
    ended = monotonic() - began
    for bystander in beside:
        bystander.stop()
    seen = plan.recording.stat().st_size > 0 if plan.recording.exists() else False
    if seen:
        _tell_end(plan, child, ending, ended)
    return WatchedRun(ending, seen)


def _settings(plan: WatchPlan, began: float) -> dict[str, Any]:
    return {
        "mode": "run",
        "recording": str(plan.recording),
        "limit": plan.limit - _OWN_SHARE,
        "began": began,
        "since": start_of(),
        "device": f"virtual:{plan.virtual}" if plan.virtual else "real",
        "follow": plan.follow or plan.virtual is not None,
        "stage2": list(plan.exact),
    }


def _tell_end(plan: WatchPlan, child: int, ending: Ending, at: float) -> None:
    """Add to the recording what the program itself could not know: its status, or the signal it died from."""
    event = {"event": "exit", "t": round(at, 6), "pid": child, "tid": child}
    _add(plan, {**event, "status": ending.status, "signal": ending.signal, "states": []}, plan.limit)


def _add(plan: WatchPlan, event: dict[str, Any], limit: int | None = None) -> None:
    """Add a line, unless the recording is full."""
    line = encode(event)
    with suppress(OSError):
        # A program that died while it wrote left a line without its end.
        with plan.recording.open("rb+") as stream:
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
            stream.seek(max(size - 1, 0))
            whole = stream.read(1) in (b"\n", b"")
        piece = line if whole else b"\n" + line
        if size and size + len(piece) <= (limit or plan.limit - _OWN_SHARE):
            with plan.recording.open("ab", buffering=0) as stream:
                stream.write(piece)
