"""File systems that are full: tiny ones in memory, in a mount namespace of a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest

from tests.launch.scripting import SECONDS, variables

#: What a program in the namespace has: the disk, and what fills it to its last byte.
PREFACE = """
import os, sys
from pathlib import Path
disk = Path(sys.argv[1])
def fill():
    with open(disk / "filler", "ab", 0) as filler:
        for size in (65536, 4096, 1):
            try:
                while True:
                    filler.write(bytes(size))
            except OSError:
                pass
"""
_MOUNT = 'mount -t tmpfs -o "size=$1,nr_inodes=$2" none "$3" && shift 3 && exec "$@"'


@cache
def _obstacle() -> str | None:
    """Why no file system can be mounted here."""
    try:
        tried = subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except OSError as error:
        return str(error)
    return None if tried.returncode == 0 else tried.stderr.strip()


def on_tiny_disk(
    disk: Path, program: str, *words: str, size: str = "64k", inodes: int = 100, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python program in whose eyes a folder is a tiny disk; its words stand behind the folder."""
    obstacle = _obstacle()
    if obstacle is not None:
        pytest.skip(f"no file system can be mounted here, which takes root: {obstacle}")
    disk.mkdir(exist_ok=True)
    python = [sys.executable, "-c", PREFACE + textwrap.dedent(program), os.fspath(disk), *words]
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", _MOUNT, "sh", size, str(inodes), os.fspath(disk), *python],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=variables(more),
        cwd=disk.parent,
        check=False,
    )
