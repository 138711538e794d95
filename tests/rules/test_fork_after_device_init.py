"""Programs that fork too late: what `check` says of each is what happens when it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import coldfork
from tests.rules.programs_that_fork import FAULTS, SOUND

RULE = "fork-after-device-init"
EVERY = {**FAULTS, **SOUND}


def laid_out(text: str, folder: Path) -> dict[str, list[int]]:
    """Write the files of a program; the lines of each that are at fault."""
    parts = text.split("### ")
    files = {"run.py": parts[0]} if len(parts) == 1 else {}
    for part in parts[1:]:
        name, _, body = part.partition("\n")
        files[name] = body
    marked = {}
    for name, body in files.items():
        (folder / name).write_text(body)
        marked[name] = [n for n, line in enumerate(body.split("\n"), 1) if line.endswith("# fault")]
    return {name: lines for name, lines in marked.items() if lines}


def said(folder: Path, version: str = "3.11") -> dict[str, list[int]]:
    report = coldfork.check([folder], target_version=version)
    found: dict[str, list[int]] = {}
    for finding in report.findings:
        if finding.rule == RULE:
            found.setdefault(Path(finding.path).name, []).append(finding.line)
    return found


@pytest.mark.parametrize("name", EVERY)
def test_the_line_that_forks_too_late_is_named_and_no_other(name: str, tmp_path: Path) -> None:
    marked = laid_out(EVERY[name], tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.coldfork]\nsite-packages = ["empty"]\n')
    assert said(tmp_path) == marked


@pytest.mark.once
@pytest.mark.parametrize("name", EVERY)
def test_it_is_what_happens(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    fails = bool(laid_out(EVERY[name], tmp_path))
    command = [sys.executable, "-m", "coldfork", "run", "--strict", "--virtual", "h100", "run.py"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    # The virtual device computes nothing: a child that may use it ends as well, but for another reason.
    assert ("coldfork: poisoned: " in ended.stderr) is fails, ended.stderr
    assert ended.returncode or not fails
