"""Commands that a release runs, and what it says meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class ReleaseError(Exception):
    """Raised where a release does not hold; its text says what to mend."""


def say(text: str) -> None:
    """Tell whoever waits for the release."""
    print(text, file=sys.stderr, flush=True)


def run(
    command: Sequence[str | Path],
    folder: Path,
    variables: Mapping[str, str] | None = None,
    wanted: int = 0,
) -> str:
    """Run a command and return what it printed; a `ReleaseError` with all of it if the status is another."""
    line = [str(word) for word in command]
    done = subprocess.run(
        line,
        cwd=folder,
        env=dict(os.environ if variables is None else variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != wanted:
        told = (done.stdout + done.stderr).strip()
        raise ReleaseError(f"`{' '.join(line)}` ended with {done.returncode}, not {wanted}\n{told}")
    return done.stdout
