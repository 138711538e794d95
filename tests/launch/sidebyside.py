"""Runs the same program with Python itself and with `coldfork run`, so that both can be compared."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src"
SECONDS = 60
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Said:
    """All that somebody outside a program can tell about it."""

    status: int
    output: str
    errors: str


def variables(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which coldfork is found and no setting of this machine is."""
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COLDFORK_", "CUDA_", "PYTEST_", "PYTHON"))
    }
    more = dict(extra or {})
    path = [*more.pop("PYTHONPATH", "").split(os.pathsep), str(SOURCE)]
    return {**plain, "PYTHONPATH": os.pathsep.join(filter(None, path)), "TERM": "dumb", **more}


def coldfork_run(*options: str) -> list[str]:
    """The words that take the place of `python`."""
    # Without -P, a file of the program's folder could pass for a module that coldfork needs.
    return [sys.executable, "-P", "-m", "coldfork", "run", *options]


def start(
    command: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None, **how: Any
) -> subprocess.Popen[str]:
    """Start a program whose output is read by us, with the signals as a shell leaves them."""
    process: subprocess.Popen[str] = subprocess.Popen(
        list(command),
        cwd=folder,
        env=variables(extra),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="backslashreplace",
        **how,
    )
    return process


def said_by(
    command: Sequence[str], folder: Path, given: str = "", extra: Mapping[str, str] | None = None
) -> Said:
    """Run a program to its end."""
    process = start(command, folder, extra)
    try:
        output, errors = process.communicate(given, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        raise
    return Said(process.returncode, _ADDRESS.sub("0x...", output), _ADDRESS.sub("0x...", errors))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Lay out a program."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
