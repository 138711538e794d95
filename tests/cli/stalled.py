"""A real command, stopped at the moment when it imports a module that never ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
STALL = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n"
"""The source of such a module; it writes the number of its process beside itself."""


def stalled(folder: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """The command at that moment, standing in `folder`, and the process that does the import."""
    process = subprocess.Popen(
        [sys.executable, "-m", "coldfork", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pid = folder / "pid"
    while not (pid.exists() and pid.stat().st_size):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process, int(pid.read_text())


def is_gone(pid: int) -> bool:
    """Whether no process has this number."""
    return not Path(f"/proc/{pid}").exists()
