"""Captures around state: what goes wrong in a replay is found, and what goes right is not spoken of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.source.captured_programs.states import Program, programs
from tests.source.capturing import RULES
from tests.source.expectations import findings_of, write

pytestmark = pytest.mark.once

PROGRAMS = programs()
NAMES = [one.name for one in PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_what_goes_wrong_is_found_and_nothing_else(program: Program, tmp_path: Path) -> None:
    write(program.files, tmp_path / "tree")
    found = [one for one in findings_of(tmp_path) if one.rule in RULES]
    assert bool(found) is (program.outcome != "right"), [one.message for one in found]


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_the_outcome_is_that_of_a_replay(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from tests.source.captured_programs.replay import Replay

    write(program.files, tmp_path)
    known = dict(sys.modules)
    try:
        assert Replay(tmp_path, monkeypatch).outcome() == program.outcome
    finally:
        for name in sys.modules.keys() - known.keys():
            if name in {Path(file).stem for file in program.files}:
                del sys.modules[name]
