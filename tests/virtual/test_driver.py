"""The virtual driver in C, asked as programs ask the real one."""

from __future__ import annotations

import shutil

import pytest

from tests.virtual.conftest import Run

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler on this machine"
)

_ASK = """
import ctypes, os
import coldfork.virtual
device = coldfork.virtual.install("h100", 2)
cuda = ctypes.CDLL("libcuda.so.1")
number = ctypes.c_int()
def count():
    return cuda.cuDeviceGetCount(ctypes.byref(number))
def in_child(fork=os.fork):
    read, write = os.pipe()
    child = fork()
    if child == 0:
        os.write(write, bytes([count(), cuda.cuInit(0), count()]))
        os._exit(0)
    os.waitpid(child, 0)
    return list(os.read(read, 3))
"""


def test_nothing_answers_before_the_driver_is_initialised(run: Run) -> None:
    program = run(
        _ASK
        + """
tell(before=count(), state=device.state, version=cuda.cuDriverGetVersion(ctypes.byref(number)))
tell(initialised=cuda.cuInit(0), after=count(), number=number.value, now=device.state, level=device.level)
"""
    )
    assert program.told == {
        "before": 3,
        "state": "cold",
        "version": 0,
        "initialised": 0,
        "after": 0,
        "number": 2,
        "now": "awake",
        "level": "driver",
    }


@pytest.mark.must_hold
def test_a_child_of_an_awake_process_can_never_initialise_it(run: Run) -> None:
    program = run(_ASK + "cold = in_child()\ncuda.cuInit(0)\ntell(cold=cold, awake=in_child())")
    assert program.told == {"cold": [3, 0, 0], "awake": [3, 3, 3]}


def test_a_fork_that_python_does_not_see_poisons_too(run: Run) -> None:
    program = run(_ASK + "cuda.cuInit(0)\ntell(child=in_child(ctypes.CDLL(None).fork))")
    assert program.told == {"child": [3, 3, 3]}
