"""Functions of workers: which of them touch a device in a child, and which are said to be certain to.

Each really runs in a forked child of a process that holds a device. Of none that does not touch it there may
it be said that it is certain to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux"),
]

SOURCES = Path(__file__).resolve().parents[2] / "src"
FUNCTIONS = Path(__file__).with_name("programs") / "functions"


IDLE = ("idling", "sparing", "roundabout")
BUSY = ("touching", "spoiling")


@pytest.fixture(scope="module")
def judged() -> dict[str, dict[str, dict[str, bool]]]:
    """For each function of each module, whether a child touches the device, and whether that is certain."""
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    done = subprocess.run(
        [sys.executable, "judging.py", *IDLE, *BUSY],
        cwd=FUNCTIONS,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.must_hold
@pytest.mark.parametrize("module", IDLE)
def test_nothing_is_certain_of_what_need_not_touch(
    module: str, judged: dict[str, dict[str, dict[str, bool]]]
) -> None:
    found = judged[module]
    assert len(found) > 40
    assert [name for name, one in found.items() if one["touches"]] == []
    assert [name for name, one in found.items() if one["certain"]] == []


@pytest.mark.must_hold
@pytest.mark.parametrize("module", BUSY)
def test_what_touches_in_every_run_is_certain(
    module: str, judged: dict[str, dict[str, dict[str, bool]]]
) -> None:
    found = judged[module]
    assert len(found) > 30
    assert [name for name, one in found.items() if not one["touches"]] == []
    # The module itself names those of which that is not seen.
    assert [name for name, one in found.items() if one["certain"] == one["unseen"]] == []
