"""Runs a command as if it had been typed, and keeps what it prints, with a recording where it is Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, BinaryIO

from coldfork.launch import state_folder
from coldfork.model.errors import ColdforkError, UsageError

_PYTHON = re.compile(r"^(?:python(?:3(?:\.\d+)?)?|pypy3?)(?:\.exe)?$")
_DRAIN_SECONDS = 5.0
"""How long a process that the command left behind may keep the pipes before they are given up."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    status: int
    """As a shell would say it: 128 and the signal's number for one that a signal ended."""
    recording: Path | None


def run(command: Sequence[str], log: IO[bytes]) -> Ran:
    """Run the command; what it prints goes where it would have gone, and into the log as well."""
    recording = _recording(command)
    line = _watched(command, recording) if recording is not None else list(command)
    try:
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise UsageError(f"cannot run {command[0]}: {error.strerror}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    pumps = [
        Thread(target=_pump, args=(process.stdout, sys.stdout, log), daemon=True),
        Thread(target=_pump, args=(process.stderr, sys.stderr, log), daemon=True),
    ]
    for pump in pumps:
        pump.start()
    status = _waited(process)
    for pump in pumps:
        pump.join(_DRAIN_SECONDS)
    log.flush()
    return Ran(status if status >= 0 else 128 - status, recording)


def _waited(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the terminal sent it to the command, too, which decides what to make of it


def _recording(command: Sequence[str]) -> Path | None:
    """Where to record; None where the command is no Python or nothing can be watched here."""
    watchable = sys.platform == "darwin" or sys.platform.startswith("linux")
    if not watchable or _PYTHON.match(Path(command[0]).name) is None or len(command) < 2:
        return None
    try:
        return state_folder.new_place()
    except ColdforkError:
        return None


def _watched(command: Sequence[str], recording: Path) -> list[str]:
    ours = [sys.executable, "-m", "coldfork", "run", "--follow", "--quiet", "--output", str(recording)]
    return [*ours, "--python", command[0], *command[1:]]


def _pump(source: IO[bytes], target: IO[str], log: BinaryIO | IO[bytes]) -> None:
    shown: BinaryIO | None = getattr(target, "buffer", None)
    while block := os.read(source.fileno(), 65536):
        log.write(block)
        try:
            if shown is not None:
                shown.write(block)
                shown.flush()
        except (OSError, ValueError):
            shown = None  # whoever read it went away; the log goes on
