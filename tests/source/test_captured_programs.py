"""Generated programs: captured code reads what CPython reads, through classes, stars and cases."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.source.captured_programs.generated import Program
from tests.source.expectations import findings_of
from tests.source.test_captured_calls import program, read_lines

PROGRAMS = 150


def test_what_generated_programs_read_is_what_cpython_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    wanted: dict[str, dict[int, str]] = {}
    for seed in range(PROGRAMS):
        source = program(Program(Random(seed)).definitions())
        lines = read_lines(source, monkeypatch)
        wanted[f"p{seed}"] = dict.fromkeys(sorted(lines), "certain")
        (tree / f"p{seed}.py").write_text(source)
    found: dict[str, dict[int, str]] = {name: {} for name in wanted}
    for one in findings_of(tmp_path):
        if one.rule == "sync-in-captured-region":
            found[one.module][one.chain.steps[-2].line or 0] = one.verdict.value
    assert {name: dict(sorted(lines.items())) for name, lines in found.items()} == wanted
    assert sum(map(len, wanted.values())) > PROGRAMS // 2  # they do read


def test_no_capture_is_one_too_many(tmp_path: Path) -> None:
    count = 450
    functions = [
        f"def capture_{index}(y: torch.Tensor):\n"
        "    with torch.cuda.graph(torch.cuda.CUDAGraph()):\n"
        "        y.item()\n"
        for index in range(count)
    ]
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "many.py").write_text("import torch\n\n" + "\n".join(functions))
    assert len([one for one in findings_of(tmp_path) if one.rule == "sync-in-captured-region"]) == count
