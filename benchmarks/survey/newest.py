"""The newest release of a package: pip says which one it is and fetches it, its Python files are kept."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from published import places, sources
from published.errors import UnavailableError
from published.sources import Wanted

_NAMED = re.compile(r"^\S+ \((\S+)\)")


def newest(name: str) -> str:
    """The newest version that pip would install here."""
    said = _pip("index", "versions", name)
    found = _NAMED.match(said)
    if found is None:
        raise UnavailableError(f"pip names no version of {name}: {said[:200]}")
    return found[1]


def present(name: str, version: str) -> Path | None:
    """The folder of a release's Python files, if it is here."""
    return sources.present(Wanted(name, version), places.sources())


def fetched(name: str, version: str) -> Path:
    """The folder of a release's Python files; what is not here is downloaded, and nothing is installed."""
    folder, wanted = places.sources(), Wanted(name, version)
    here = present(name, version)
    if here is not None:
        return here
    with tempfile.TemporaryDirectory(prefix=".survey-", dir=folder) as downloads:
        try:
            options = ("--quiet", "--no-deps", "--only-binary=:all:", "--dest", downloads)
            _pip("download", *options, f"{name}=={version}")
        except UnavailableError:
            # No wheel is made for this Python, and pip would run the setup.py of an archive to fetch it.
            return sources.obtain(wanted)
        [archive] = Path(downloads).iterdir()
        with archive.open("rb") as opened:
            return sources.settle(wanted, archive.name, opened, folder)


def _pip(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UnavailableError(f"pip {arguments[0]} {arguments[-1]}: {done.stderr.strip()[-400:]}")
    return done.stdout
