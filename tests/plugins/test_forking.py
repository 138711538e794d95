"""Tests that fork: refused while a device is awake, left alone while it is cold."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.plugins.conftest import DRIVER, WATCHED, Run

STRICT = "--coldfork-strict"

FORK = """
    import os

    import driver
    import pytest


    def fork():
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)


    def test_cold():
        fork()


    @pytest.mark.wakes_device
    def test_waking():
        driver.wake()


    def test_forking():
        fork()


    @pytest.mark.wakes_device
    def test_waking_is_not_forking():
        fork()


    @pytest.mark.wakes_device(forks=True)
    def test_on_purpose():
        fork()
"""


@pytest.mark.must_hold
def test_a_fork_while_awake_fails_and_names_who_woke_it(suite: Run) -> None:
    ended = suite({"driver.py": DRIVER, "test_it.py": FORK}, *WATCHED, STRICT)
    assert ended.status == 1
    assert ended.text == snapshot("""\
test_it.py ..FF.                                                         [100%]

== FAILURES ==
== test_forking ==
this test forked while cuda was awake
  --> test_it.py:8  in fork
      child = os.fork()
   1. fork                          forks this process
  called from
      test_forking                  test_it.py:24
   = cuda was woken by test_it.py::test_waking (test_it.py:20, cuInit)
   = it fails if the child touches cuda; seen on virtual:h100
   = help: start the process with spawn or forkserver, or fork while the device is cold
   = next: follow the child with coldfork run --follow -m pytest test_it.py::test_forking
== test_waking_is_not_forking ==
this test forked while cuda was awake
  --> test_it.py:8  in fork
      child = os.fork()
   1. fork                          forks this process
  called from
      test_waking_is_not_forking    test_it.py:29
   = cuda was woken by test_it.py::test_waking (test_it.py:20, cuInit)
   = it fails if the child touches cuda; seen on virtual:h100
   = help: start the process with spawn or forkserver, or fork while the device is cold
   = next: follow the child with coldfork run --follow -m pytest test_it.py::test_waking_is_not_forking
== coldfork ==
cuda was woken by test_it.py::test_waking, which may (wakes_device): test_it.py:20, cuInit
4 forks, 3 while a device was awake
3 forks that may break the child: it fails if the child touches cuda; a test fails where a child was seen to
== short test summary info ==
FAILED test_it.py::test_forking - Failed: this test forked while cuda was awake
FAILED test_it.py::test_waking_is_not_forking - Failed: this test forked whil...
== 2 failed, 3 passed in Ts ==
""")


def test_the_line_of_the_user_is_named_and_not_one_of_multiprocessing(suite: Run) -> None:
    test = """
        import multiprocessing

        import driver
        import pytest


        @pytest.mark.wakes_device
        @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
        def test_it(method):
            driver.wake()
            process = multiprocessing.get_context(method).Process(target=print)
            process.start()
            process.join()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, STRICT, "-W", "ignore")
    assert (ended.status, ended.outcomes) == (1, "1 failed, 2 passed")
    assert (
        "== test_it[fork] ==\nthis test forked while cuda was awake\n  --> test_it.py:12  in test_it\n"
        in (ended.text)
    )
    assert "   = cuda was woken by test_it.py::test_it[fork] (test_it.py:10, cuInit)\n" in ended.text


def test_starting_a_program_is_no_fork(suite: Run) -> None:
    test = """
        import subprocess
        import sys

        import driver
        import pytest


        @pytest.mark.wakes_device
        def test_it():
            driver.wake()
            subprocess.run([sys.executable, "-c", ""], check=True)
    """
    assert suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED).status == 0


def test_a_fork_while_files_are_collected_fails_the_collection(suite: Run) -> None:
    test = """
        import os

        import driver

        driver.wake()
        if not (child := os.fork()):
            os._exit(0)
        os.waitpid(child, 0)
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, STRICT)
    assert (ended.status, ended.outcomes) == (2, "2 errors")
    assert "collecting test_it.py forked while cuda was awake\n  --> test_it.py:6\n" in ended.text


def test_a_thread_older_than_the_test_that_forks_fails_the_run(suite: Run) -> None:
    test = """
        import os
        import threading

        import driver
        import pytest

        go, done = threading.Event(), threading.Event()


        def fork():
            go.wait()
            if not (child := os.fork()):
                os._exit(0)
            os.waitpid(child, 0)
            done.set()
            threading.Event().wait()


        @pytest.mark.wakes_device
        def test_waking():
            driver.wake()
            threading.Thread(target=fork, name="forker", daemon=True).start()


        def test_innocent():
            go.set()
            done.wait()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, STRICT, "-W", "ignore")
    assert (ended.status, ended.outcomes) == (1, "2 passed")
    assert "a process, while test_it.py::test_innocent ran, forked while cuda was awake\n" in ended.text
    assert "on the thread forker" in ended.text


def test_a_child_that_wakes_its_own_device_is_as_it_should_be(suite: Run) -> None:
    test = """
        import multiprocessing

        import driver


        def test_it():
            process = multiprocessing.get_context("fork").Process(target=driver.wake)
            process.start()
            process.join()
            assert process.exitcode == 0
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert ended.status == 0
    assert "no device was woken; device: virtual:h100\n1 fork, none while a device was awake\n" in ended.text


@pytest.mark.must_hold
def test_real_torch_says_the_same_of_the_child(suite: Run) -> None:
    pytest.importorskip("torch")
    test = """
        import multiprocessing

        import torch


        def ask():
            try:
                torch.cuda.current_device()
            except RuntimeError as error:
                print(error)
                if error.args:
                    raise


        def test_it():
            torch.cuda.is_available()
            process = multiprocessing.get_context("fork").Process(target=ask)
            process.start()
            process.join()
    """
    ended = suite({"test_it.py": test}, *WATCHED, "-s")
    assert ended.status == 1
    assert "Cannot re-initialize CUDA in forked subprocess" in ended.text
    assert (
        "this test forked while cuda was awake, and the child touched cuda\n  --> test_it.py:18" in ended.text
    )


@pytest.mark.must_hold
def test_a_child_that_touches_nothing_fails_nobody(suite: Run) -> None:
    ended = suite({"driver.py": DRIVER, "test_it.py": FORK}, *WATCHED)
    assert (ended.status, ended.outcomes) == (0, "5 passed")
    assert "4 forks, 3 while a device was awake\n" in ended.text
    assert "3 forks that may break the child: it fails if the child touches cuda" in ended.text


@pytest.mark.must_hold
def test_what_starts_a_program_of_its_own_is_no_fork_of_this_one(suite: Run) -> None:
    test = """
        import os
        import pty
        import subprocess

        import driver
        import pytest


        @pytest.mark.wakes_device
        def test_it():
            driver.wake()
            subprocess.run(["true"], check=True, preexec_fn=os.setsid)
            assert pty.spawn(["true"], lambda fd: b"", lambda fd: b"") == 0
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, STRICT, "-W", "ignore")
    assert (ended.status, ended.outcomes) == (0, "1 passed")


CAUGHT = """
    import multiprocessing
    import sys

    import pytest
    import torch


    def work(status):
        try:
            torch.cuda.current_device()
        except RuntimeError:
            sys.exit(status)


    @pytest.mark.wakes_device
    @pytest.mark.parametrize("status", [0, 3])
    def test_it(status):
        torch.cuda.is_available()
        process = multiprocessing.get_context("fork").Process(target=work, args=(status,))
        process.start()
        process.join()
        assert process.exitcode == status


    @pytest.mark.wakes_device
    def test_pool():
        with multiprocessing.get_context("fork").Pool(1) as pool:
            with pytest.raises(RuntimeError):
                pool.apply(torch.cuda.current_device)
"""


@pytest.mark.must_hold
def test_a_child_that_catches_the_error_and_ends_well_fails_nobody(suite: Run) -> None:
    pytest.importorskip("torch")
    ended = suite({"test_it.py": CAUGHT}, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, "2 failed, 1 passed")
    assert "1 forked child touched cuda, caught the error and ended well\n" in ended.text
    assert "FAILED test_it.py::test_it[3] " in ended.text
    assert "FAILED test_it.py::test_pool " in ended.text


def test_a_child_whose_end_nobody_saw_is_a_doubt(suite: Run) -> None:
    pytest.importorskip("torch")
    test = """
        import os

        import pytest
        import torch


        @pytest.mark.wakes_device
        def test_it():
            torch.cuda.is_available()
            reader, writer = os.pipe()
            if not os.fork():
                try:
                    torch.cuda.current_device()
                except RuntimeError:
                    os.write(writer, b"x")
                os._exit(0)
            assert os.read(reader, 1) == b"x"
    """
    ended = suite({"test_it.py": test}, *WATCHED, "-W", "ignore")
    assert (ended.status, ended.outcomes) == (0, "1 passed")
    assert "! 1 forked child touched cuda and caught the error; how it ended was not seen\n" in ended.text
