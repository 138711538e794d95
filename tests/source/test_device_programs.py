"""Devices with an unknown number, tensors made out of tensors, default devices: as torch takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import step
from tests.source.device_programs import Program, programs
from tests.source.expectations import findings_of, write

PROGRAMS = programs()
#: How far one program that torch is asked about lies from the next.
STEP = step(7)


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


#: Imports torch beside a virtual device once, and each module in a child forked from there.
ASKING = """
import importlib, os, sys
import coldfork.virtual
device = coldfork.virtual.install("h100")
import torch
for name in sys.argv[1:]:
    if not os.fork():
        try:
            importlib.import_module(name)
        except coldfork.virtual.NotSimulatedError:
            pass  # it is awake, and computes nothing
        print(name, device.state, flush=True)
        os._exit(0)
    os.wait()
"""


def test_torch_says_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    chosen = PROGRAMS[::STEP] + PROGRAMS[-5::2]
    write({f"m{number}.py": program.text for number, program in enumerate(chosen)}, tmp_path)
    assert woken(tmp_path, chosen) == [program.wakes for program in chosen]


def woken(folder: Path, asked: list[Program]) -> list[bool]:
    """Whether importing each program wakes the virtual device."""
    modules = [f"m{number}" for number in range(len(asked))]
    command = [sys.executable, "-c", ASKING, *modules]
    told = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    states = dict(line.split() for line in told.stdout.splitlines())
    assert set(states.values()) <= {"cold", "awake"}
    return [states[module] == "awake" for module in modules]
