"""The programs on the page about graphs run, and print what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, Mode, Phase

torch: Any = pytest.importorskip("torch")

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


class Engine:
    """One with a cache, and with a plan that is made for each state, or once for all."""

    def __init__(self, kept: bool) -> None:
        self.lengths = torch.ones(8, dtype=torch.int64)
        self.cache = torch.zeros(8, 4)
        self.kept = kept
        self.plans: dict[int, Any] = {}

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], Any]:
        size = descriptor.tokens
        plans = self.plans if self.kept else {}

        def forward(mode: Mode) -> Any:
            if size not in plans:
                plans[size] = self.lengths[:size].cumsum(0)
            self.cache[:size] += plans[size][:, None]
            return self.cache[:size].sum(1)

        return forward, plans

    def fill(self, descriptor: BatchDescriptor, seed: int) -> None:
        chance = torch.Generator().manual_seed(seed)
        self.lengths.copy_(torch.randint(1, 100, (8,), generator=chance))


@pytest.mark.parametrize("kept", [False, True])
def test_the_five_lines_are_green_for_an_engine_and_red_where_it_keeps_a_plan(kept: bool) -> None:
    engine = Engine(kept)
    first = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert first is not None
    names: dict[str, Any] = {
        "create_forward": engine.create,
        "sizes": [BatchDescriptor(Mode.FULL, size) for size in (8,)],
        "buffers": {"lengths": engine.lengths},
        "kv_cache": engine.cache,
        "fill": engine.fill,
    }
    exec(first[1], names)
    if kept:
        with pytest.raises(AssertionError, match=r"\[8\]: nothing -> a tensor .*, shared with capture"):
            names["test_our_graphs"]()
    else:
        names["test_our_graphs"]()
