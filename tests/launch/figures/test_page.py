"""The how-to page: its program is run, prints what it says, and lists what there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from coldfork.launch.figures import POOLS, SCRIPTS, metric_name
from coldfork.launch.pool.health import ENDS, FAILURES
from coldfork.launch.script.result import Outcome

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "metrics.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LABELS = re.compile(r"^\| `(\w+)` \|.*\| (?:`pool`; )?`(\w+)`: (.*) \|$", re.MULTILINE)
CONVERT = "import sys\nraise SystemExit(sys.argv[1] == 'bad.txt')\n"


@pytest.mark.once
def test_the_program_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE)
    assert [kind for kind, _ in blocks].count("text") == 2
    (tmp_path / "convert.py").write_text(CONVERT, encoding="utf-8")
    has_sdk = find_spec("opentelemetry") is not None
    programs = [
        text for kind, text in blocks if kind == "python" and (has_sdk or "opentelemetry" not in text)
    ]
    done = subprocess.run(
        [sys.executable, "-c", "".join(programs)],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "COLDFORK_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(text for kind, text in blocks if kind == "text")


def test_the_page_lists_every_measure() -> None:
    rows = re.findall(r"^\| `(coldfork_\w+)` \| `([\w.]+)`", PAGE, re.MULTILINE)
    assert rows == [(metric_name(one), one.name) for one in (*SCRIPTS, *POOLS)]


def test_the_page_lists_every_value_of_a_label() -> None:
    listed = {
        (name, label): tuple(re.findall(r"`([\w-]+)`", values))
        for name, label, values in LABELS.findall(PAGE)
    }
    assert listed == {
        ("coldfork_script_runs_total", "outcome"): tuple(map(str, Outcome)),
        ("coldfork_pool_tasks_total", "outcome"): ("done", *FAILURES),
        ("coldfork_pool_worker_starts_total", "outcome"): ("ready", "failed"),
        ("coldfork_pool_worker_ends_total", "reason"): ENDS,
        ("coldfork_pool_workers", "state"): ("idle", "busy", "starting"),
    }
