"""The virtual device under a CPU build of torch: torch's own Python code decides and speaks."""

from __future__ import annotations

import pytest

from tests.virtual.conftest import Run

pytest.importorskip("torch")

_FORK = """
import os
def in_child(act):
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException as error:
            tell(child=type(error).__name__, said=str(error))
        else:
            tell(child="fine")
        os._exit(0)
    os.waitpid(child, 0)
"""

_SPAWN_SAYS = (
    "Cannot re-initialize CUDA in forked subprocess. "
    "To use CUDA with multiprocessing, you must use the 'spawn' start method"
)


@pytest.mark.parametrize("order", ["install(); import torch", "import torch; install()"])
@pytest.mark.must_hold
def test_a_child_of_an_awake_process_gets_torchs_own_message(run: Run, order: str) -> None:
    program = run(
        f"""
from coldfork.virtual import install
{order}
import torch
before = torch.cuda.is_initialized()
tell(before=before, capability=torch.cuda.get_device_capability(), after=torch.cuda.is_initialized())
{_FORK}
in_child(lambda: torch.cuda.set_device(0))
"""
    )
    assert program.told == {
        "before": False,
        "capability": [9, 0],
        "after": True,
        "child": "RuntimeError",
        "said": _SPAWN_SAYS,
    }


def test_asking_whether_there_is_a_device_poisons_forks_while_torch_says_it_is_not_initialised(
    run: Run,
) -> None:
    program = run(
        f"""
from coldfork.virtual import install
device = install()
import torch
tell(available=torch.cuda.is_available(), initialised=torch.cuda.is_initialized(), state=device.state)
{_FORK}
in_child(torch.cuda.init)
"""
    )
    assert program.told == {
        "available": True,
        "initialised": False,
        "state": "awake",
        "child": "RuntimeError",
        "said": _SPAWN_SAYS,
    }
