"""The virtual MI300X: torch's Python part believes in ROCm, and no library is loaded."""

from __future__ import annotations

import pytest

from tests.virtual.conftest import Run

pytest.importorskip("torch")

_START = """
import coldfork.virtual
device = coldfork.virtual.install("mi300x", 3)
import torch
"""
_LOOK = """
tell(hip=torch.version.hip is not None, cuda=torch.version.cuda)
tell(library=device.library, accelerator=device.accelerator)
tell(count=torch.cuda.device_count(), state=device.state)
"""


def test_counting_wakes_it_because_there_is_no_management_library(run: Run) -> None:
    program = run(
        _LOOK
        + "tell(name=torch.cuda.get_device_name(), arch=torch.cuda.get_device_properties(0).gcnArchName)",
        after=_START,
    )
    assert program.told == {
        "hip": True,
        "cuda": None,
        "library": None,
        "accelerator": "rocm",
        "count": 3,
        "state": "awake",
        "name": "AMD Instinct MI300X",
        "arch": "gfx942:sramecc+:xnack-",
    }


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({"HIP_VISIBLE_DEVICES": "0,2"}, 2),
        ({"ROCR_VISIBLE_DEVICES": "2,1"}, 2),
        ({"ROCR_VISIBLE_DEVICES": "2,1", "HIP_VISIBLE_DEVICES": "1"}, 1),
        ({"CUDA_VISIBLE_DEVICES": "1"}, 1),
        ({"HIP_VISIBLE_DEVICES": ""}, 0),
    ],
)
def test_its_own_variables_hide_devices(run: Run, environment: dict[str, str], count: int) -> None:
    assert run(_LOOK, after=_START, environment=environment).told["count"] == count


def test_a_child_of_an_awake_process_gets_torchs_message(run: Run) -> None:
    program = run(
        _LOOK
        + """
import os
if os.fork() == 0:
    try:
        torch.cuda.init()
    except RuntimeError as error:
        tell(said=str(error)[:46], child=device.state)
    os._exit(0)
os.wait()
""",
        after=_START,
    )
    assert program.told["said"] == "Cannot re-initialize CUDA in forked subprocess"
    assert program.told["child"] == "poisoned"
