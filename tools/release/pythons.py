"""The interpreters that a release is built for and tried on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from release.running import ReleaseError

#: Prints the interpreter's own path where it is the CPython asked for and can make environments.
QUESTION = """
import sys, sysconfig, ensurepip, venv
usual = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(sys.executable if usual and sys.version_info[:2] == (3, MINOR) else "")
"""


class Python(NamedTuple):
    """An interpreter, and which one it is."""

    minor: int
    path: Path

    @property
    def tag(self) -> str:
        """The tag that the names of its wheels carry."""
        return f"cp3{self.minor}"


def found(minor: int) -> Python:
    """Find a CPython 3.`minor` on PATH or among those of pyenv."""
    for candidate in _candidates(minor):
        try:
            done = subprocess.run(
                [candidate, "-I", "-c", QUESTION.replace("MINOR", str(minor))],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            continue
        if done.returncode == 0 and (path := done.stdout.strip()):
            return Python(minor, Path(path))
    raise ReleaseError(
        f"a release needs Python 3.{minor} with venv, on PATH or from pyenv; there is none here"
    )


def _candidates(minor: int) -> Iterator[str]:
    named = shutil.which(f"python3.{minor}")
    if named is not None:
        yield named
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted((pyenv / "versions").glob(f"3.{minor}.*/bin/python")))
