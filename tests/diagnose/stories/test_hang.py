"""Dumps of processes that hang: a forked child in a pool without threads, and what only waits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, said_by

#: The child gives itself up and says where it is; one that goes on says so.
PROGRAM = """
import faulthandler, multiprocessing, torch

def work():
    faulthandler.dump_traceback_later(2, exit=True)
    (torch.ones(4_000_000) + 1).sum()
    faulthandler.cancel_dump_traceback_later()
    print("went well")

if __name__ == "__main__":
    torch.set_num_threads(2)
    (torch.ones(4_000_000) + 1).sum()
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
"""

CHILD = """  File "/opt/python/lib/python3.11/multiprocessing/process.py", line 108 in run
  File "/opt/python/lib/python3.11/multiprocessing/process.py", line 314 in _bootstrap
  File "/opt/python/lib/python3.11/multiprocessing/popen_fork.py", line 71 in _launch
  File "/opt/python/lib/python3.11/multiprocessing/popen_fork.py", line 19 in __init__
  File "/opt/python/lib/python3.11/multiprocessing/context.py", line 281 in _Popen
  File "/opt/python/lib/python3.11/multiprocessing/process.py", line 121 in start
  File "/srv/train.py", line 30 in main
"""
HEAD = "Current thread 0x00007f60a1b2c740 (most recent call first):\n"
SPY = """Process 4242: python train.py
Python v3.11.7 (/opt/python/bin/python3.11)

Thread 4242 (idle): "MainThread"
    gomp_team_barrier_wait_end (libgomp.so.1)
    GOMP_parallel (libgomp.so.1)
    work (train.py:22)
    run (multiprocessing/process.py:108)
    _bootstrap (multiprocessing/process.py:314)
    _launch (multiprocessing/popen_fork.py:71)
    start (multiprocessing/process.py:121)
    main (train.py:30)
"""


def test_a_forked_child_in_the_pool_of_openmp_is_likely() -> None:
    story = only_story(SPY)
    assert (story.name, story.confidence) == ("hang", Confidence.LIKELY)
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("train.py", 22)
    (child,) = story.processes
    assert (child.pid, child.started, child.framework) == (4242, "fork", "multiprocessing")


@pytest.mark.skipif(sys.platform != "linux", reason="torch computes with GNU OpenMP on Linux only")
def test_a_child_that_computes_with_torch_after_its_parent_did_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    story = only_story(said_by(PROGRAM, tmp_path))
    assert (story.name, story.confidence) == ("hang", Confidence.POSSIBLE)
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 6)
    (child,) = story.processes
    assert child.fork is not None
    assert (Path(child.fork.path).name, child.fork.line) == ("program.py", 14)


def test_the_python_calls_of_a_forked_child_alone_are_possible() -> None:
    story = only_story(f'{HEAD}  File "/srv/train.py", line 22 in work\n{CHILD}')
    assert story.confidence is Confidence.POSSIBLE
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/train.py", 22)
    (child,) = story.processes
    assert child.fork is not None
    assert (child.fork.path, child.fork.line) == ("/srv/train.py", 30)


@pytest.mark.parametrize(
    "waits",
    [
        'File "/opt/python/lib/python3.11/multiprocessing/queues.py", line 103 in get',
        'File "/opt/python/lib/python3.11/threading.py", line 327 in wait',
        'File "/opt/python/lib/python3.11/selectors.py", line 468 in select',
    ],
)
def test_a_child_that_waits_for_work_is_no_story(waits: str) -> None:
    assert names(f'{HEAD}  {waits}\n  File "/srv/train.py", line 22 in work\n{CHILD}') == []


def test_a_crash_is_no_hang() -> None:
    crash = (
        f'Fatal Python error: Segmentation fault\n\n{HEAD}  File "/srv/train.py", line 22 in work\n{CHILD}'
    )
    assert names(crash) == []


def test_a_process_that_was_not_forked_is_no_story() -> None:
    assert names(f'{HEAD}  File "/srv/train.py", line 22 in work\n') == []
