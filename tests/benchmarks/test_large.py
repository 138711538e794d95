"""The cost of large packages: which ones, what one run checks, and the promises beside a real check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks import large, targets
from benchmarks.measure import Run

pytestmark = pytest.mark.once


def test_twenty_packages_are_measured_and_the_promises_name_them() -> None:
    names = {package.wanted.name for package in large.PACKAGES}
    assert len(names) == len(large.PACKAGES) == 20
    assert {"sympy", "pandas"} <= names
    promised = {target.tree for target in targets.TARGETS}
    assert {"sympy", "pandas", targets.ANY_LARGE, large.TOGETHER, large.GENERATED, *large.TABLES} <= promised


def test_as_many_folders_are_checked_together_as_hold_the_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(large, "TOGETHER_MEGABYTES", 0.0015)
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
        (folder / "m.py").write_text("#" * 1000)
    assert large.megabytes(folders) == pytest.approx(0.003)
    assert large.together(folders) == folders[:2]


def test_what_a_check_takes_is_held_against_the_promises(capsys: pytest.CaptureFixture[str]) -> None:
    cheap = large.Cost("sympy", 26.0, Run(9.0, 0, 13.0, 200_000_000))
    assert cheap.headline == {"CPU": 13.0, "CPU a megabyte": 0.5, "peak memory": 200.0}
    assert large._show(cheap, of_package=True) == 0
    dear = large.Cost("sympy", 10.0, Run(9.0, 0, 21.0))
    assert large._show(dear, of_package=True) == 2
    assert capsys.readouterr().out.count("MISSED") == 2


def test_tables_are_made_as_large_as_their_names_say() -> None:
    ast.parse(large.table(20))
    assert large.table(20).count("'key_") == 20
    made = large.messages(20_000)
    ast.parse(large.messages(200))
    assert 19_900 < made.count("\n") < 20_100
    assert 1e6 < len(made) < 3e6


def test_generated_lines_are_checked_for_real(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    folder.mkdir()
    (folder / "table.py").write_text(large.generated(2_000))
    assert (folder / "table.py").read_text().count("\n") == 2_000
    cost = large.cost("2000 generated lines", [folder], tmp_path)
    assert 0 < cost.headline["peak memory"] < 200
    assert (tmp_path / "report.json").exists()
