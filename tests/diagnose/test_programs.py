"""Programs of this repository break on the virtual device, and their logs lead to the line that did it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the virtual device needs Linux"),
]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def explained(
    tmp_path: Path, cache: Path, name: str, launcher: tuple[str, ...] = ()
) -> tuple[Any, subprocess.CompletedProcess[str]]:
    """Let coldfork run a program on the virtual device, and explain what it printed."""
    said = tmp_path / "said.json"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "examples"), str(HERE / "programs")]),
        "COLDFORK_VIRTUAL": "h100",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "COLDFORK_CACHE_DIR": str(cache),
    }
    program = (*launcher, name) if launcher else (str(HERE / "programs" / f"{name}.py"),)
    line = [sys.executable, "-m", "coldfork", "explain", "--format", "json", "--output", str(said)]
    done = subprocess.run(
        [*line, "--", sys.executable, *program],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return json.loads(said.read_text(encoding="utf-8")), done


@pytest.mark.must_hold
def test_the_broken_engine_is_led_back_to_its_class_body(tmp_path: Path, cache: Path) -> None:
    said, done = explained(tmp_path, cache, "forking_engine")
    (story,) = said["stories"]
    assert (story["story"], story["confidence"], done.returncode) == ("cuda-in-forked-child", "certain", 0)
    assert story["culprit"]["path"].endswith("broken_engine/attention/flash.py")
    assert story["culprit"]["line"] == 12
    assert {process["started"] for process in story["processes"]} == {"fork"}
    assert [process["name"] for process in story["processes"]] == ["ForkProcess-1", "ForkProcess-2"]
    assert story["processes"][0]["fork"]["path"].endswith("broken_engine/launcher.py")


def test_a_device_that_the_program_woke_itself_is_the_programs_doing(tmp_path: Path, cache: Path) -> None:
    said, done = explained(tmp_path, cache, "import_in_child")
    (story,) = said["stories"]
    assert done.returncode == 1
    assert story["culprit"]["path"].endswith("import_in_child.py")


def test_a_launcher_that_runs_the_program_is_not_guilty_of_what_the_program_does(
    tmp_path: Path, cache: Path
) -> None:
    said, done = explained(tmp_path, cache, "below_a_launcher", ("-m", "unittest"))
    story = said["stories"][0]
    assert (story["story"], done.returncode) == ("cuda-in-forked-child", 1)
    assert story["culprit"]["path"].endswith("programs/below_a_launcher.py")
    assert (story["culprit"]["line"], story["culprit"]["call"]) == (20, "torch.cuda.get_device_name")
