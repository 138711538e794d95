"""Runs programs as another user of this machine, who can read neither this clone nor its environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.launch.scripting import SECONDS, SOURCE

USER = 54321
"""Such that no other process is theirs."""


@dataclass(frozen=True)
class SomebodyElse:
    """Another user, with a folder and a Python."""

    folder: Path
    """Where the user may write, and finds nothing but what was put there."""
    sources: Path
    """A copy of the package, and of the modules asked for."""
    python: str

    def run(
        self, text: str, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        given = os.environ if variables is None else variables
        program = self.sources / "program.py"
        program.write_text(textwrap.dedent(text), encoding="utf-8")
        program.chmod(0o644)
        return _run(
            [self.python, str(program), *arguments],
            env={**given, "PYTHONPATH": str(self.sources), "PYTHONDONTWRITEBYTECODE": "1"},
        )


@contextmanager
def somebody_else(*modules: str) -> Iterator[SomebodyElse]:
    """Become able to run programs as another user, who can import the package and these modules of the tests."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    # Neither the folder of the tests' own files nor the one that TMPDIR names is open to others.
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        home = Path(temporary)
        folder, sources = home / "folder", home / "sources"
        shutil.copytree(
            SOURCE / "coldfork", sources / "coldfork", ignore=shutil.ignore_patterns("__pycache__")
        )
        for module in modules:
            name = f"{module.replace('.', '/')}.py"
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE.parent / name, sources / name)
        # Who cloned with a umask that keeps others out has files that keep them out, too.
        for path in (home, *home.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        folder.mkdir()
        folder.chmod(0o777)
        yield SomebodyElse(folder, sources, _python(sources))


def _python(sources: Path) -> str:
    """An interpreter that the other user can run coldfork with."""
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        try:
            done = _run([python, "-c", "from coldfork import run_script"], env={"PYTHONPATH": str(sources)})
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("another user can run coldfork with no Python here")


def _run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as the other user, who stands where everybody may."""
    return subprocess.run(
        command,
        cwd="/",
        user=USER,
        group=USER,
        extra_groups=(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        **how,
    )
