"""Devices with an unknown number, tensors made out of tensors, default devices: as torch takes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import step
from tests.source.device_programs import Program, programs
from tests.source.expectations import findings_of, write

PROGRAMS = programs()
#: How far one program that torch is asked about lies from the next.
STEP = step(131)


def test_each_program_wakes_where_torch_does(tmp_path: Path) -> None:
    write({f"m{number}.py": program.text for number, program in enumerate(PROGRAMS)}, tmp_path / "tree")
    found: dict[str, set[str]] = {}
    for finding in findings_of(tmp_path):
        found.setdefault(finding.module, set()).add(f"{finding.effect} {finding.verdict.value}")
    wrong = {
        program.body: found.get(f"m{number}")
        for number, program in enumerate(PROGRAMS)
        if found.get(f"m{number}", set()) != ({"creates-context certain"} if program.wakes else set())
    }
    assert wrong == {}


def test_torch_says_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    chosen = PROGRAMS[::STEP] + PROGRAMS[-5::2]
    write({f"m{number}.py": program.text for number, program in enumerate(chosen)}, tmp_path)
    assert woken(tmp_path, chosen) == [program.wakes for program in chosen]


def woken(folder: Path, asked: list[Program]) -> list[bool]:
    """Whether importing each program wakes the virtual device."""
    modules = [f"m{number}" for number in range(len(asked))]
    command = [sys.executable, "-m", "coldfork", "probe", "--virtual", "h100", "--format", "json", *modules]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    rows = {row["module"]: row for row in json.loads(told.stdout)["modules"]}
    assert {row["status"] for row in rows.values()} <= {"cold", "woken"}, told.stdout
    return [rows[module]["status"] == "woken" for module in modules]
