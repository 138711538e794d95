"""Real interpreters, watched and not, for the tests of what runs inside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coldfork.observe import bootstrap
from coldfork.observe.recording import events

HERE = Path(__file__).parent
SOURCES = HERE.parent.parent / "src"
SENSOR = "planted_device:Sensor"

Event = dict[str, Any]


def variables(*folders: Path) -> dict[str, str]:
    """A small environment in which the folders and the planted device can be imported."""
    return {
        "PYTHONPATH": os.pathsep.join(map(str, (*folders, HERE))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
    }


def run(
    arguments: list[str], environment: Mapping[str, str], folder: Path, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run this Python to its end."""
    options = {"capture_output": True, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run(
        [sys.executable, *arguments],
        env=dict(environment),
        cwd=folder,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Put files into a folder."""
    for name, source in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source, encoding="utf-8")
    return folder


def imported(folder: Path, module: str, *stage2: str) -> Event:
    """Return the report of a process that imports a module under watch: events, imports and failure."""
    process = run(
        [str(HERE / "watched_program.py"), str(folder), module, *stage2],
        {**variables(), "PYTHONPATH": str(SOURCES)},
        folder,
    )
    assert process.returncode == 0, process.stderr
    said: Event = json.loads(process.stdout)
    return said


def waker(folder: Path, module: str, *stage2: str) -> Event:
    """Who woke the planted device, once."""
    said = imported(folder, module, *stage2)
    assert [event["event"] for event in said["events"]] == ["wake"], said["events"]
    found: Event = said["events"][0]["waker"]
    return found


def recorded(
    folder: Path, arguments: list[str], **settings: Any
) -> tuple[subprocess.CompletedProcess[str], list[Event]]:
    """Run a program under watch as `coldfork run` does, and read its recording."""
    recording = folder / "recording.jsonl"
    recording.unlink(missing_ok=True)
    told = {"mode": "run", "recording": str(recording), "sensor": SENSOR, **settings}
    process = run(arguments, bootstrap.environment(told, variables(folder)), folder)
    found, _ = events.read(recording.read_bytes()) if recording.exists() else ([], True)
    return process, found


def probed(
    folder: Path, module: str, **settings: Any
) -> tuple[subprocess.CompletedProcess[str], list[Event]]:
    """Probe a module, and read the lines of the result."""
    place = folder / "result.jsonl"
    place.unlink(missing_ok=True)
    told = {"mode": "probe", "module": module, "result": str(place), "sensor": SENSOR, **settings}
    process = run(
        bootstrap.command(sys.executable)[1:], bootstrap.environment(told, variables(folder)), folder
    )
    found, _ = events.read(place.read_bytes()) if place.exists() else ([], True)
    return process, found


def kinds(found: list[Event], *wanted: str) -> list[Event]:
    """The events of some kinds."""
    return [event for event in found if event["event"] in wanted]
