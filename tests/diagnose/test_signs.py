"""Messages of published packages are told as their stories, and `tools/signs.py` finds them."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.diagnose.running import names, raised

HERE = Path(__file__).resolve().parent
TOOL = HERE.parents[1] / "tools" / "signs.py"
SIGNS = json.loads((HERE / "signs.json").read_text(encoding="utf-8"))
SOURCE = """
def start(device):
    raise RuntimeError("context has already been set")
    raise ValueError("the weather is fine")
    message = "CUDA initialized " + "before forking"
    raise CudaDriverError(message)
    raise RuntimeError(f"{device} was already initialized")
"""


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: f"{sign['distribution']}-{sign['line']}")
def test_a_published_message_is_its_story(sign: dict[str, str]) -> None:
    if sign["kind"]:
        assert names(raised(f"{sign['kind']}: {sign['text']}")) == [sign["story"]]
    else:
        warned = f"/x/site-packages/{sign['file']}:{sign['line']}: RuntimeWarning: {sign['text']}\n  warn()\n"
        assert names(warned) == [sign["story"]]


def test_the_tool_reads_a_wheel_with_version_file_and_line(tmp_path: Path) -> None:
    wheel = tmp_path / "engine-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("engine/start.py", SOURCE)
    line = [sys.executable, str(TOOL), str(wheel)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == [
        "context-already-set: engine 1.2.3 engine/start.py:3 context has already been set",
        "initialization-error: engine 1.2.3 engine/start.py:6 CUDA initialized before forking",
        "?: engine 1.2.3 engine/start.py:7 0 was already initialized",
    ]
