"""An examination is spared only while nothing has changed: each change that matters is noticed at the next fork."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.start.guarding import WAKE, needs_compiler, needs_linux, told

pytestmark = needs_linux

FORKS = """
import json, os, threading
import coldfork
coldfork.guard("strict")
from coldfork.start.guard.process import HERE

def fork():
    try:
        pid = os.fork()
    except coldfork.UnsafeForkError as error:
        return error.reasons[0].code
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    # The second word: whether the next fork would be spared the examination.
    return ["forked", HERE._examination._unchanged is not None and HERE._examination._unchanged.still()]
"""
SPARED = ["forked", True]

CHANGES = {
    "torch": (
        "import torch\ntorch.set_num_threads(2)",
        "torch.randn(2_000_000).exp().sum()",
        "openmp-pool-of-this-thread",
    ),
    "jax": ("import jax", "jax.devices()", "jax-cpu-awake"),
    "polars": (
        "import polars",
        "polars.DataFrame({'a': range(100_000)}).lazy().select(polars.col('a').sum()).collect()",
        "polars-awake",
    ),
}


@pytest.mark.must_hold
@needs_compiler
def test_a_driver_that_wakes_after_many_clean_forks_is_noticed_at_the_next(tmp_path: Path) -> None:
    program = (
        FORKS + WAKE + "said = [fork() for _ in range(6)]\nwake()\nprint(json.dumps([said, fork(), fork()]))"
    )
    said, *after = told(program, tmp_path)
    assert said[-1] == SPARED
    assert after == ["cuda-awake", "cuda-awake"]


@pytest.mark.must_hold
@pytest.mark.parametrize("package", CHANGES)
def test_a_runtime_that_wakes_after_many_clean_forks_is_noticed_at_the_next(
    package: str, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    load, wake, code = CHANGES[package]
    program = f"{FORKS}\n{load}\nsaid = [fork() for _ in range(8)]\n{wake}\nprint(json.dumps([said, fork(), fork()]))"
    said, *after = told(program, tmp_path)
    assert said[-1] == SPARED
    assert after == [code, code]


@pytest.mark.must_hold
def test_a_pool_of_another_thread_spares_nothing_to_its_owner(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = (
        FORKS
        + """
import torch
torch.set_num_threads(2)
said = []
ready, go = threading.Event(), threading.Event()

def owner():
    torch.randn(2_000_000).exp().sum()
    ready.set()
    go.wait()
    said.append(fork())

thread = threading.Thread(target=owner)
thread.start()
ready.wait()
others = [fork() for _ in range(5)]
go.set()
thread.join()
print(json.dumps([others[-1][0], said]))
"""
    )
    assert told(program, tmp_path) == ["forked", ["openmp-pool-of-this-thread"]]


def test_a_child_examines_for_itself(tmp_path: Path) -> None:
    program = (
        FORKS
        + """
import ctypes
said = [fork() for _ in range(6)]
pid = os.fork()
if pid == 0:
    still = HERE._examination._unchanged.still()
    os._exit(0 if not still and fork()[0] == "forked" else 1)
print(json.dumps([said[-1], os.waitpid(pid, 0)[1]]))
"""
    )
    assert told(program, tmp_path) == [SPARED, 0]
