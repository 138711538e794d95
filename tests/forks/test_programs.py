"""Forty programs that fork, innocent and guilty: what each does in reality, and what coldfork makes of it.

The first line of each says which it is, and what the guard does under `raise`: nothing ("silent"), a warning
at the fork ("warned"), a note at the error in the child ("noted"), or an error in place of the fork
("refused").
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from coldfork.model.forking.judgement import Judgement
from coldfork.model.timelines import Recording
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.summary.outcomes import Standing, outcome
from tests.amounts import step

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux"),
]

SOURCES = Path(__file__).resolve().parents[2] / "src"
PROGRAMS = Path(__file__).with_name("programs")

SITE = """
import coldfork
import coldfork.virtual

coldfork.virtual.install("h100")
coldfork.guard("raise")
"""
"""What every Python of a guarded run does before the program."""


@dataclass(frozen=True)
class Program:
    """One program, and what its first line says."""

    path: Path

    @property
    def words(self) -> tuple[str, str]:
        first = self.path.read_text(encoding="utf-8").partition("\n")[0]
        kind, _, told = first.removeprefix("# ").partition(", ")
        return kind, told

    @property
    def guilty(self) -> bool:
        return self.words[0] == "guilty"


ALL = [Program(path) for path in sorted(PROGRAMS.glob("*.py"))]
STEP = step(6)
"""All of them twice take minutes: usually every sixth is run guarded, and the third behind it recorded."""


def needs(program: Program) -> None:
    text = program.path.read_text(encoding="utf-8")
    for package in ("torch", "polars", "tokenizers", "joblib", "uvicorn"):
        if f"import {package}" in text or f"from {package}" in text:
            pytest.importorskip(package)


def run(program: Program, folder: Path, command: list[str], *paths: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COLDFORK", "OMP"))}
    kept["PYTHONPATH"] = os.pathsep.join(map(str, (*paths, SOURCES)))
    kept["OMP_NUM_THREADS"] = "2"
    return subprocess.run(
        [sys.executable, *command, str(program.path)],
        env=kept,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.must_hold
@pytest.mark.parametrize("program", ALL[::STEP], ids=lambda program: program.path.stem)
def test_the_guard_refuses_no_innocent_and_tells_of_every_guilty_one(
    program: Program, tmp_path: Path
) -> None:
    needs(program)
    (tmp_path / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    done = run(program, tmp_path, [], tmp_path)
    said = done.stderr
    assert (done.returncode != 0) == program.guilty, said
    _, told = program.words
    assert ("UnsafeForkError" in said) == (told == "refused"), said
    assert ("UnsafeForkWarning" in said) == (told in ("warned", "noted")), said
    if told == "noted":
        assert "coldfork: this process was forked from process" in said
        assert "was touched here by" in said
    else:
        assert "coldfork: this process was forked" not in said


@pytest.mark.must_hold
@pytest.mark.parametrize("program", ALL[STEP // 2 :: STEP], ids=lambda program: program.path.stem)
def test_a_recording_judges_as_the_guard_does_and_tells_what_came_of_it(
    program: Program, tmp_path: Path
) -> None:
    needs(program)
    recorded = tmp_path / "run.coldfork"
    command = ["-m", "coldfork", "run", "--quiet", "--virtual", "h100", "--strict", "--output", str(recorded)]
    done = run(program, tmp_path, command)
    assert (done.returncode != 0) == program.guilty, done.stderr
    recording = files.read(recorded)
    assert not [doubt for doubt in outcome(recording).doubts if "coldfork.source.bodies" in doubt]
    judged = judgements(recording)
    kind, told = program.words
    if program.path.stem.startswith("preexec"):
        # What becomes another program is no process of this one.
        assert judged <= {Judgement.BREAKS_IF}
        return
    assert bool(judged) == (told != "silent")
    assert (Judgement.BREAKS in judged) == (told == "refused")
    standing = outcome(recording).standing
    assert (standing is Standing.POISONED) == (told in ("noted", "refused")), (kind, standing)


def judgements(recording: Recording) -> set[Judgement]:
    """Return the judgements of the forks at which something was held."""
    found = {
        verdict.judgement
        for process in recording.processes
        for going in process.departures
        for verdict in going.verdicts.values()
    }
    return found - {Judgement.HARMLESS, Judgement.UNKNOWN}


def test_there_are_forty() -> None:
    kinds = [program.words for program in ALL]
    assert len(kinds) >= 40
    assert {kind for kind, _ in kinds} == {"innocent", "guilty"}
    assert {told for _, told in kinds} == {"silent", "warned", "noted", "refused"}
