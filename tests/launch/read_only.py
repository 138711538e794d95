"""Commands for which the whole file system is read-only, save for one folder."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

_MOUNTING = (
    "mount --make-rprivate / && mount --bind {folder} {folder} && "
    "mount -o remount,bind,ro / && exec {command}"
)


def read_only_but(folder: Path) -> list[str]:
    """Return the words that precede such a command."""
    if why := _refused():
        pytest.skip(f"nothing can be mounted here: {why}")
    return [*_unshare(), "sh", "-c", _MOUNTING.format(folder='"$0"', command='"$@"'), os.fspath(folder)]


def _unshare() -> list[str]:
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm"]


@cache
def _refused() -> str:
    """Why the system does not let us; empty if it does."""
    text = _MOUNTING.format(folder="/tmp", command="test ! -w /")
    try:
        done = subprocess.run([*_unshare(), "sh", "-c", text], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"it ended with {done.returncode}"
