"""The how-to page: its programs are run, and print what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "worker-pool.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.once
def test_the_programs_of_the_page_print_what_it_says() -> None:
    blocks = BLOCK.findall(PAGE)
    following = [
        text
        for (kind, text), (before, _) in zip(blocks[1:], blocks, strict=False)
        if kind == "text" and before == "python"
    ]
    program = "".join(text for kind, text in blocks if kind == "python")
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(following) == 4
    assert done.stdout == "".join(following)
