"""Runs that the real pytest-xdist distributes: workers watch themselves, the controller tells."""

# ruff: noqa: E501 (whole outputs, line for line)

from __future__ import annotations

import re

import pytest
from inline_snapshot import snapshot

from tests.plugins.conftest import DRIVER, ENGINE, WATCHED, Run

pytestmark = pytest.mark.once

pytest.importorskip("xdist")

WORKERS = ("-p", "xdist", "-n", "2")


@pytest.mark.must_hold
def test_what_every_worker_collects_is_told_once(suite: Run) -> None:
    files = {**ENGINE, "test_api.py": "import engine.api\n\n\ndef test_it():\n    pass\n"}
    ended = suite(files, *WATCHED, *WORKERS)
    assert ended.status == 1
    assert ended.text.partition("== ERRORS ==")[2] == snapshot("""\

== ERROR collecting test_api.py ==
collecting test_api.py woke cuda
  --> engine/attention.py:11  in Builder
      support = version()
   1. version                       engine/attention.py:7
   2. cuInit                        initialises the CUDA driver
  imported through
      test_api                      test_api.py:1
      engine.api                    engine/api.py:1
      engine.attention              engine/attention.py:11
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: compute it on first use, not while the module is imported; read more: coldfork rule driver-init-at-import
== coldfork ==
cuda was woken by collecting test_api.py: engine/attention.py:11, cuInit [gw0, gw1]
== short test summary info ==
ERROR test_api.py - collecting test_api.py woke cuda
== 1 passed, 1 error in Ts ==
""")


def test_a_conftest_that_controller_and_workers_import_is_told_once(suite: Run) -> None:
    files = {**ENGINE, "conftest.py": "import engine.api\n", "test_it.py": "def test_it():\n    pass\n"}
    ended = suite(files, *WATCHED, *WORKERS)
    assert (ended.status, ended.outcomes) == (1, "1 passed, 1 error")
    assert "cuda was woken by loading conftest.py: engine/attention.py:11, cuInit [gw0, gw1]\n" in ended.text


def test_what_only_the_controller_wakes_is_told_too(suite: Run) -> None:
    conftest = """
        import os

        if "PYTEST_XDIST_WORKER" not in os.environ:
            import engine.api
    """
    files = {**ENGINE, "conftest.py": conftest, "test_it.py": "def test_it():\n    pass\n"}
    ended = suite(files, *WATCHED, *WORKERS)
    assert (ended.status, ended.outcomes) == (1, "1 passed, 1 error")
    assert "loading conftest.py woke cuda\n" in ended.text


@pytest.mark.must_hold
def test_tests_fail_in_their_workers_and_are_summed_up(suite: Run) -> None:
    test = """
        import os

        import driver
        import pytest


        def test_waking():
            driver.wake()


        def test_forking():
            if not (child := os.fork()):
                os._exit(0)
            os.waitpid(child, 0)
    """
    ended = suite(
        {"driver.py": DRIVER, "test_it.py": test}, *WATCHED, "--coldfork-strict", *WORKERS, "--dist=loadfile"
    )
    assert (ended.status, ended.outcomes) == (1, "2 failed")
    text = re.sub(r"\[gw\d\][^\n]*\n", "", ended.text.partition("== FAILURES ==")[2])
    assert re.sub(r"\[gw\d\]", "[gwN]", text) == snapshot("""\

== test_waking ==
this test woke cuda
  --> test_it.py:8  in test_waking
      driver.wake()
   1. wake                          driver.py:7
   2. cuInit                        initialises the CUDA driver
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: if the test is meant to wake it, mark it with @pytest.mark.wakes_device
== test_forking ==
this test forked while cuda was awake
  --> test_it.py:12  in test_forking
      if not (child := os.fork()):
   1. fork                          forks this process
   = cuda was woken by test_it.py::test_waking (test_it.py:8, cuInit)
   = it fails if the child touches cuda; seen on virtual:h100
   = help: start the process with spawn or forkserver, or fork while the device is cold
   = next: follow the child with coldfork run --follow -m pytest test_it.py::test_forking
== coldfork ==
cuda was woken by test_it.py::test_waking: test_it.py:8, cuInit 1 fork, 1 while a device was awake
1 fork that may break the child: it fails if the child touches cuda; a test fails where a child was seen to
== short test summary info ==
FAILED test_it.py::test_waking - Failed: this test woke cuda
FAILED test_it.py::test_forking - Failed: this test forked while cuda was awake
== 2 failed in Ts ==
""")


def test_what_is_nobodys_fails_the_whole_run(suite: Run) -> None:
    test = """
        import threading

        import driver

        go, done = threading.Event(), threading.Event()


        def warm():
            go.wait()
            driver.wake()
            done.set()
            threading.Event().wait()


        def test_that_starts_it():
            threading.Thread(target=warm, name="warmer", daemon=True).start()


        def test_innocent():
            go.set()
            done.wait()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, *WORKERS, "--dist=loadfile")
    assert (ended.status, ended.outcomes) == (1, "2 passed")
    assert "cuda was woken while test_it.py::test_innocent ran\n" in ended.text


def test_a_worker_that_dies_is_not_taken_for_cold(suite: Run) -> None:
    test = "import os\n\n\ndef test_it():\n    os._exit(3)\n"
    ended = suite({"test_it.py": test}, *WATCHED, *WORKERS, "--max-worker-restart=0")
    assert ended.status == 1
    assert re.search(r"! ended before reporting what was seen: gw\d\n", ended.text)


def test_a_cold_run_passes_and_no_warning_comes_of_the_watched_workers(suite: Run) -> None:
    ended = suite({"test_it.py": "def test_it():\n    pass\n"}, *WATCHED, *WORKERS)
    assert (ended.status, ended.outcomes) == (0, "1 passed")
    assert "no device was woken; device: virtual:h100\n" in ended.text
