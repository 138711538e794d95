"""The how-to page: its programs are run on eight devices, and print what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch.lease.conftest import SECONDS, Host

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "device-leases.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
pytestmark = pytest.mark.once


def test_the_programs_of_the_page_print_what_it_says(host: Host, tmp_path: Path) -> None:
    assert "error" not in host.start().ask(do="take", devices=[0, 1])
    blocks = BLOCK.findall(PAGE)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 3
    script = "import os\nprint('train.py sees', os.environ['CUDA_VISIBLE_DEVICES'])\n"
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    program = "".join(text for kind, text in blocks if kind == "python")
    done = subprocess.run(
        [sys.executable, "-u", "-c", program],
        check=False,
        cwd=tmp_path,
        env=host.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    printed = re.sub(r"since \d\d:\d\d:\d\d", "since TIME", re.sub(r"pid \d+", "pid PID", done.stdout))
    assert printed == "".join(text for kind, text in blocks if kind == "text")
