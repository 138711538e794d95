"""The programs on the page about graphs run, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "graphs.md"


def test_the_page_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    file = tmp_path / "engine.py"
    file.write_text(program, encoding="utf-8")
    exec(compile(program, str(file), "exec"), {"__name__": "engine"})
    printed = capsys.readouterr().out.replace(str(file), "engine.py")
    shown = re.search(r"    FULL tokens=4: .*?\n\n", text, re.DOTALL)
    assert shown is not None
    wanted = [line.strip() for line in shown.group().strip().splitlines()]
    assert [line.strip() for line in printed.splitlines()][: len(wanted)] == wanted
