"""The usage reported of a tree of real processes is what they were told to use."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from coldfork.launch.supervisor import watch

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux keeps these accounts"),
]
MIB = 1024**2


@contextmanager
def program(text: str) -> Iterator[list[int]]:
    """A program that says the pids of its processes when it is ready, and stays until it is let go."""
    command = [sys.executable, "-S", "-c", textwrap.dedent(text)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield list(map(int, process.stdout.readline().split()))


SHARING = """
import os, sys
held = bytearray(64 << 20)
held[::4096] = b"x" * len(held[::4096])
pids, ready = [os.getpid()], os.pipe()
for _ in range(3):
    pid = os.fork()
    if not pid:
        os.write(ready[1], b".")
        sys.stdin.read()
        os._exit(0)
    pids.append(pid)
while len(pids) > 1 and ready:
    for _ in pids[1:]:
        os.read(ready[0], 1)
    break
print(*pids, flush=True)
sys.stdin.read()
"""


def test_pages_that_processes_share_count_once() -> None:
    with program(SHARING) as pids:
        assert len(pids) == 4
        held = watch.memory(pids)
        resident = sum(map(watch.resident, pids))
        assert 64 * MIB < held < 64 * MIB + 4 * 12 * MIB
        assert resident > 2 * 64 * MIB


def test_of_a_process_that_may_not_be_read_what_is_resident_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "proportional", lambda pid: None)
    assert watch.memory([os.getpid()]) == pytest.approx(watch.resident(os.getpid()), rel=0.2)


def test_a_process_that_is_gone_uses_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    assert gone.wait() == 0
    assert (watch.memory([gone.pid]), watch.processor_seconds(gone.pid)) == (0, None)


BURNING = """
import os, sys, time
def burn():
    while time.process_time() < 0.4:
        pass
for _ in range(2):
    pid = os.fork()
    if not pid:
        burn()
        os._exit(0)
    os.waitpid(pid, 0)
zombie = os.fork()
if not zombie:
    burn()
    os._exit(0)
os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
print(os.getpid(), zombie, flush=True)
sys.stdin.read()
"""


def test_the_time_of_children_that_ended_is_their_parents_and_a_zombies_its_own() -> None:
    with program(BURNING) as pids:
        parent, zombie = (watch.processor_seconds(pid) for pid in pids)
    assert parent is not None
    assert zombie is not None
    assert parent[0] <= 0.3
    assert 0.78 <= sum(parent) <= 1.2
    assert 0.38 <= sum(zombie) <= 0.6


def test_the_time_of_a_process_is_not_rounded() -> None:
    """Of many children that live for a moment, hundredths of a second would add up."""
    before = time.process_time()
    seen = watch.processor_seconds(os.getpid())
    after = time.process_time()
    assert seen is not None
    assert before - 1e-6 <= seen[0] <= after + 0.011
    assert abs(seen[1] - sum(os.times()[2:4])) <= 0.011
