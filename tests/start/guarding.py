"""Real interpreters in which the guard is on, for its tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")
needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="a virtual device that any library can wake needs a C compiler"
)

WAKE = """
import ctypes
import coldfork.virtual
coldfork.virtual.install("h100")

def wake():
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
"""
"""What gives a program a device, and `wake()`, which initialises its driver."""


def environment(**variables: str) -> dict[str, str]:
    """The variables of this process without coldfork's own, and with these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    cache = {name: os.environ[name] for name in ("COLDFORK_CACHE_DIR",) if name in os.environ}
    return {**kept, **cache, "PYTHONPATH": str(ROOT / "src"), **variables}


def run(
    program: str,
    folder: Path,
    *options: str,
    python: str = sys.executable,
    timeout: float = 120,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a program from a file of its own, because spawned children import it."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    return subprocess.run(
        [python, *options, str(file)],
        env=environment(**variables),
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=timeout,
        check=False,
    )


def told(program: str, folder: Path, **named: Any) -> Any:
    """Return the JSON on a program's last line; any other complaint is an error."""
    done = run(program, folder, **named)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
