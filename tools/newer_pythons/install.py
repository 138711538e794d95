"""Put Pythons that run under Node below a folder, with the packages that the tests need there.

The npm package `pyodide` carries a CPython that needs no other download. A folder is left as it is when it
holds what this file and `pyproject.toml` ask for. Without Node or npm it says that there is nothing to run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv" / "newer"
#: The version of the package, and the CPython in it.
PYTHONS = {"314.0.7": "3.14.2", "315.0.0-alpha.2": "3.15.0rc1"}
_NEEDED = ("pytest", "hypothesis", "inline-snapshot")
_STAMP = "made-from"
#: Wheels that run on any platform, because a compiled one would be for this machine.
_PURE = (
    "--only-binary=:all:",
    "--python-version=3.14",
    "--implementation=py",
    "--abi=none",
    "--platform=any",
)


class CannotInstall(Exception):
    """Something needed is missing; the message names it."""


def requirements() -> list[str]:
    """Return the requirements of the tests, from `pyproject.toml`."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    asked = [one for one in groups["test"] if isinstance(one, str) and one.startswith(_NEEDED)]
    return [*(one for one in asked if not one.startswith("pytest-")), "packaging"]


def digest() -> str:
    """Return a digest of everything the folder is made from."""
    return hashlib.sha256(
        "\n".join([*PYTHONS, *requirements(), Path(__file__).read_text()]).encode()
    ).hexdigest()


def install(folder: Path) -> None:
    """Make the folder, unless it is there."""
    stamp = folder / _STAMP
    if stamp.is_file() and stamp.read_text() == digest():
        return
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise CannotInstall(f"there is no {tool} here")
    print("setting up .venv/newer (once)", file=sys.stderr)
    beside = folder.with_name(f"{folder.name}-{os.getpid()}")
    beside.mkdir(parents=True)
    try:
        _fill(beside)
        shutil.rmtree(folder, ignore_errors=True)
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _fill(folder: Path) -> None:
    for version in PYTHONS:
        _run(["npm", "pack", "--silent", f"pyodide@{version}", "--pack-destination", str(folder)])
        archive = folder / f"pyodide-{version}.tgz"
        with tarfile.open(archive) as packed:
            if hasattr(tarfile, "data_filter"):
                packed.extractall(folder / version, filter="data")
            else:
                # Before Python 3.11.4; npm has compared the archive with the digest that is known of it.
                packed.extractall(folder / version)
        archive.unlink()
    pip = [sys.executable, "-I", "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "install", "--target", str(folder / "packages"), *_PURE, *requirements()])
    (folder / _STAMP).write_text(digest())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise CannotInstall(f"{command[0]} failed: {last}")


if __name__ == "__main__":
    try:
        install(FOLDER)
    except CannotInstall as problem:
        print(f"left out: the tests on {' and '.join(PYTHONS.values())}: {problem}", file=sys.stderr)
