"""docs/tutorial.md followed word for word: its files, its commands, and what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldfork.cli.demos.walk import machine
from tests.pages import ROOT, blocks, settled, tried, write

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not machine().driver, reason="no C compiler to build the virtual driver"),
]

PARTS = re.split(r"^(?=## )", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
TITLES = [part.partition("\n")[0] for part in PARTS]


def test_there_are_three_programs() -> None:
    assert [len([block for block in blocks(part) if block.command]) for part in PARTS] == [0, 5, 3, 3, 0]


@pytest.mark.parametrize("number", [1, 2, 3], ids=TITLES[1:4])
def test_a_part_prints_what_it_shows(
    number: int, tmp_path_factory: pytest.TempPathFactory, cache: Path
) -> None:
    # A folder named after this test would pass for one of tests, of which check lists nothing.
    folder = tmp_path_factory.mktemp("page")
    if "graph" in TITLES[number]:
        pytest.importorskip("torch")
    for part in PARTS[:number]:
        for block in blocks(part):
            if block.file:
                write(block, folder)
    assert settled(tried(PARTS[number], folder, cache)) == settled(PARTS[number])
