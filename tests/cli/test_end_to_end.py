"""The whole program on a package of two files, in its own process: engine, rules, report, exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

WAKING = "import torch\n\n\nclass Kernel:\n    capability = torch.cuda.get_device_capability()\n"


@pytest.fixture
def package(project: Path) -> Path:
    """`engine.core` wakes CUDA in a class body."""
    (project / "src" / "engine" / "core.py").write_text(WAKING, encoding="utf-8")
    return project


def coldfork(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "coldfork", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONUTF8": "1"},
    )


def test_the_waking_line_is_named_and_fails_the_check(package: Path) -> None:
    done = coldfork("check", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["rule"], finding["verdict"]) == ("device-init-at-import", "certain")
    assert (finding["path"], finding["line"], finding["position"]) == ("engine/core.py", 5, "class-body")
    text = coldfork("check")
    assert "src/engine/core.py:5  in the body of class Kernel" in text.stdout


def test_an_ignore_comment_a_baseline_and_another_machine_let_it_pass(package: Path) -> None:
    assert coldfork("check", "--profile", "cpu").returncode == 0
    assert coldfork("baseline", "write").returncode == 0
    assert coldfork("check", "--baseline", "coldfork-baseline.json").returncode == 0
    core = package / "src" / "engine" / "core.py"
    core.write_text(f"# a line more\n{WAKING}", encoding="utf-8")
    assert coldfork("check", "--baseline", "coldfork-baseline.json").returncode == 0
    core.write_text(
        WAKING.replace("()\n", "()  # coldfork: ignore[device-init-at-import] a script\n"), encoding="utf-8"
    )
    assert coldfork("check").returncode == 0


def test_a_run_with_a_filled_cache_says_the_same(package: Path) -> None:
    first, second = (coldfork("check", "--format", "concise") for _ in range(2))
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout)
    assert first.stdout.startswith("src/engine/core.py:5:")
