"""The manager beneath engines: short, and run on the engines' own code by `./dev integration engines`."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "examples" / "engine_graphs" / "beneath").glob("[a-z]*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_each_takes_fewer_than_a_hundred_lines_and_is_run_by_the_integration(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) < 100
    programs = (ROOT / "integrations" / "programs").glob("engine_graphs_*.py")
    assert any(f'"beneath.{module.stem}"' in program.read_text(encoding="utf-8") for program in programs)
