"""Programs of a few lines: the lines of them that a rule names, and how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import coldfork
from tests.amounts import step

#: Where no process can start another one.
ALONE = sys.platform == "emscripten"


def is_run(name: str, names: Iterable[str]) -> bool:
    """Whether a test runs a program: every fifth is run, or all in a long run."""
    return not ALONE and name in list(names)[:: step(5)]


def without_packages(folder: Path) -> None:
    """Let `check` read a program without what is installed, unless its configuration says something itself.

    It takes seconds to follow all of torch, and other tests do.
    """
    settings = folder / "pyproject.toml"
    said = settings.read_text() if settings.exists() else ""
    if "[tool.coldfork]" not in said:
        (folder / "empty").mkdir(exist_ok=True)
        settings.write_text(f'{said}\n[tool.coldfork]\nsite-packages = ["empty"]\n')


def lines_of(rule: str, folder: Path, version: str) -> list[int]:
    """The lines of the program in a folder that a rule names, for a version of Python."""
    without_packages(folder)
    report = coldfork.check([folder / "run.py"], target_version=version)
    return [finding.line for finding in report.findings if finding.rule == rule]


def program(head: str, body: str) -> str:
    """A program whose `main` has a body."""
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    return f"{head}def main():\n{lines}\nif __name__ == '__main__':\n    main()\n"


def marked(text: str) -> list[int]:
    """The lines that are at fault."""
    return [number for number, line in enumerate(text.split("\n"), 1) if line.endswith("# fault")]


def ended(
    folder: Path, *options: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """How the program in a folder ends; with options of `coldfork run`, as that runs it."""
    command = [sys.executable, "run.py"]
    if options:
        command = [sys.executable, "-m", "coldfork", "run", *options, "run.py"]
    state = {"XDG_STATE_HOME": str(folder / "state")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **state, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
