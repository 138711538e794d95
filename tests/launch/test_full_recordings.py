"""A recording on a disk that is full: told as what it is, and never as cold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.launch.full_disks import on_tiny_disk

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts")

RUN = """
import subprocess
output = ("--output", str(disk / "run.coldfork"))
command = [sys.executable, "-m", "coldfork", "run", "--follow", "--strict", *output]
def run(code):
    ended = subprocess.run([*command, "-c", code, str(disk)], capture_output=True, text=True)
    print(ended.returncode, ended.stderr, ended.stdout)
"""
SPEECH = "could not be written: No space left on device"


@pytest.mark.must_hold
def test_a_disk_that_is_full_from_the_start_is_said_to_be(tmp_path: Path) -> None:
    said = on_tiny_disk(
        tmp_path / "disk", RUN + "(disk / 'run.coldfork').touch(); fill(); run('print(1)')"
    ).stdout
    assert said.startswith("1 coldfork: nothing was recorded, because ")
    assert SPEECH in said
    assert "did not load coldfork" not in said


@pytest.mark.must_hold
@pytest.mark.parametrize("freed", [True, False])
def test_what_was_lost_on_a_full_disk_makes_no_program_cold(freed: bool, tmp_path: Path) -> None:
    told = "import os\nos.putenv('CUDA_VISIBLE_DEVICES', '1')\n" * 400
    program = f"run({INSIDE + told + ('os.remove(filler)' if freed else '')!r})"
    said = on_tiny_disk(tmp_path / "disk", RUN + program, size="128k").stdout
    assert "coldfork: unknown: " in said
    assert (SPEECH in said) is not freed
    assert not freed or "the recording was cut" in said


INSIDE = """
import sys
filler = sys.argv[1] + '/filler'
with open(filler, 'ab', 0) as stream:
    for size in (65536, 4096, 1):
        try:
            while True:
                stream.write(bytes(size))
        except OSError:
            pass
"""
