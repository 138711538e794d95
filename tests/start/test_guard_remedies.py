"""The remedies of a refusal work: each is carried out, and the child then does its work."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.decisions import Reason
from coldfork.observe.probes.loader import Loader
from coldfork.start.guard.examination import exact_remedies
from tests.start.guarding import needs_linux, told

pytestmark = needs_linux

DIRTY = """
import ctypes, json, os, re, signal, threading, time
import coldfork
coldfork.guard("strict")
import torch

def work():
    torch.set_num_threads(2)
    return torch.randn(2_000_000).exp().sum().item()

def child_works():
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False

def refusal():
    try:
        return child_works()
    except coldfork.UnsafeForkError as error:
        return error.reasons[0]

clean = child_works()
work()
reason = refusal()
"""


@pytest.fixture
def _torch() -> None:
    pytest.importorskip("torch")


@pytest.mark.must_hold
@pytest.mark.usefixtures("_torch")
def test_pausing_libgomp_as_the_refusal_says_makes_the_fork_pass_and_the_child_work(tmp_path: Path) -> None:
    program = (
        DIRTY
        + """
call = next(remedy for remedy in reason.remedies if "ctypes" in remedy).partition(": ")[2]
result = eval(call)
print(json.dumps([clean, reason.code, result, refusal()]))
"""
    )
    assert told(program, tmp_path) == [True, "openmp-pool-of-this-thread", 0, True]


@pytest.mark.must_hold
@pytest.mark.usefixtures("_torch")
def test_a_fork_from_a_fresh_thread_passes_and_the_child_works(tmp_path: Path) -> None:
    program = (
        DIRTY
        + """
seen = []
thread = threading.Thread(target=lambda: seen.append(refusal()))
thread.start()
thread.join()
print(json.dumps([any("fresh thread" in remedy for remedy in reason.remedies), seen]))
"""
    )
    assert told(program, tmp_path) == [True, [True]]


def test_a_libgomp_without_the_function_is_not_asked_for_it() -> None:
    reason = Reason(
        "openmp-pool-of-this-thread",
        "this thread has run OpenMP regions",
        accelerator="openmp",
        remedies=("fork from a fresh thread", "call omp_pause_resource_all(omp_pause_hard)"),
        evidence=(("library", "/no/such/libgomp.so.1"),),
    )
    (offered,) = exact_remedies((reason,), Loader)
    assert offered.remedies == ("fork from a fresh thread",)
