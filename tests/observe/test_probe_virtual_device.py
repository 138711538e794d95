"""coldfork's virtual devices, seen by the probes that see real ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.observe.probing import ask

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="virtual devices need Linux")

PROGRAM = """
import coldfork.virtual
poller = states.Poller()
device = coldfork.virtual.install(os.environ["DEVICE"], 2)
kind = device.accelerator
tell(library=device.library is not None, installed=[state(kind), poller.awake()])
import torch
tell(imported=[state(kind), poller.awake()])
torch.cuda.is_available()
tell(asked=[state(kind), torch.cuda.is_initialized(), poller.awake()])
states.remember_for_children()
tell(child=in_child(lambda: [state(kind), poller.awake()]), unrecorded=in_child(lambda: state(kind)))
torch.cuda.get_device_capability()
tell(used=[state(kind), poller.awake()], failures=poller.failures)
"""


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("name", "kind", "compiler"), [("h100", "cuda", True), ("h100", "cuda", False), ("mi300x", "rocm", False)]
)
def test_a_virtual_device_is_told_apart_at_every_stage(
    name: str, kind: str, compiler: bool, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    environment: dict[str, str | None] = {"DEVICE": name, "COLDFORK_CACHE_DIR": str(tmp_path)}
    if not compiler:
        environment |= {"PATH": "/nonexistent", "CC": None}
    said = ask(PROGRAM, environment=environment)
    assert said == {
        "library": compiler,
        "installed": [["cold", None], []],
        "imported": [["cold", None], []],
        # What torch itself denies: the driver is initialised by the question whether there is a device.
        "asked": [["awake", "driver"], False, [[kind, "driver"]]],
        "child": [["poisoned", None], []],
        "unrecorded": ["poisoned", None],
        "used": [["awake", "context"], [[kind, "context"]]],
        "failures": {},
    }


def test_the_chain_of_a_program_has_no_frame_of_the_virtual_device(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(
        "import contextlib, torch\n\ndef level():\n    torch.zeros(2, device='cuda')\n\n"
        "with contextlib.suppress(NotImplementedError, RuntimeError):\n    level()\n",
        "utf-8",
    )
    recorded = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "COLDFORK_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "coldfork", "run", "--virtual", "h100", str(program)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=recorded,
    )
    chain = re.findall(r"^ +\d+\. +(\S+)", done.stderr, re.MULTILINE)
    assert chain[:2] == ["<module>", "level"]
    assert "coldfork/virtual/" not in done.stderr
