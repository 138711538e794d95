"""Tests that wake a device: who is failed, who may, and who is not blamed."""

# ruff: noqa: E501 (whole outputs, line for line)

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.plugins.conftest import DRIVER, ENGINE, WATCHED, Run


@pytest.mark.must_hold
def test_an_unmarked_test_fails_once_and_later_ones_are_not_blamed(suite: Run) -> None:
    test = """
        import driver


        def test_cold():
            pass


        def test_waking():
            driver.wake()


        def test_later():
            driver.wake()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert ended.status == 1
    assert ended.text == snapshot("""\
test_it.py .F.                                                           [100%]

== FAILURES ==
== test_waking ==
this test woke cuda
  --> test_it.py:9  in test_waking
      driver.wake()
   1. wake                          driver.py:7
   2. cuInit                        initialises the CUDA driver
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: if the test is meant to wake it, mark it with @pytest.mark.wakes_device
== coldfork ==
cuda was woken by test_it.py::test_waking: test_it.py:9, cuInit
== short test summary info ==
FAILED test_it.py::test_waking - Failed: this test woke cuda
== 1 failed, 2 passed in Ts ==
""")


def test_a_marked_test_may(suite: Run) -> None:
    test = """
        import driver
        import pytest


        @pytest.mark.wakes_device
        def test_waking():
            driver.wake()


        def test_later():
            driver.wake()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert ended.status == 0
    assert ended.text == snapshot("""\
test_it.py ..                                                            [100%]
== coldfork ==

cuda was woken by test_it.py::test_waking, which may (wakes_device): test_it.py:7, cuInit
== 2 passed in Ts ==
""")


@pytest.mark.parametrize("place", ["pytestmark = pytest.mark.wakes_device", "@pytest.mark.wakes_device"])
def test_the_marker_holds_for_a_module_and_for_a_class(place: str, suite: Run) -> None:
    test = f"import driver\nimport pytest\n\n{place}\nclass Test:\n    def test_it(self):\n        driver.wake()\n"
    assert suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED).status == 0


def test_a_fixture_counts_for_the_test_that_asked_for_it(suite: Run) -> None:
    test = """
        import driver
        import pytest


        @pytest.fixture(scope="session")
        def device():
            driver.wake()


        def test_cold():
            pass


        def test_first(device):
            pass


        def test_second(device):
            pass
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, "2 passed, 1 error")
    assert "== ERROR at setup of test_first ==\nthis test woke cuda in its setup\n" in ended.text
    assert "  --> test_it.py:7  in device\n      driver.wake()\n" in ended.text


def test_a_teardown_counts_too(suite: Run) -> None:
    test = """
        import driver
        import pytest


        @pytest.fixture
        def late():
            yield
            driver.wake()


        def test_it(late):
            pass
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, "1 passed, 1 error")
    assert "this test woke cuda in its teardown\n  --> test_it.py:8  in late\n" in ended.text


def test_an_import_inside_a_test_is_explained_as_one(suite: Run) -> None:
    test = "def test_it():\n    import engine.api\n"
    ended = suite({**ENGINE, "test_it.py": test}, *WATCHED)
    assert ended.status == 1
    assert ended.text == snapshot("""\
test_it.py F                                                             [100%]

== FAILURES ==
== test_it ==
this test woke cuda
  --> engine/attention.py:11  in Builder
      support = version()
   1. version                       engine/attention.py:7
   2. cuInit                        initialises the CUDA driver
  imported through
      test_it                       test_it.py:2
      engine.api                    engine/api.py:1
      engine.attention              engine/attention.py:11
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: compute it on first use, not while the module is imported; read more: coldfork rule driver-init-at-import
== coldfork ==
cuda was woken by test_it.py::test_it: engine/attention.py:11, cuInit
== short test summary info ==
FAILED test_it.py::test_it - Failed: this test woke cuda
== 1 failed in Ts ==
""")


@pytest.mark.parametrize(
    ("body", "outcomes"),
    [
        ("driver.wake()\n    pytest.skip('no second device')", "1 failed"),
        ("driver.wake()\n    pytest.xfail('known')", "1 failed"),
        ("driver.wake()\n    assert False, 'broken'", "1 failed"),
    ],
    ids=["skipped", "expected to fail", "failed"],
)
def test_no_other_outcome_hides_it(body: str, outcomes: str, suite: Run) -> None:
    test = f"import driver\nimport pytest\n\n\ndef test_it():\n    {body}\n"
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, outcomes)
    assert "this test woke cuda\n  --> test_it.py:6  in test_it\n" in ended.text
    assert ("broken" in ended.text) == ("broken" in body)


def test_a_thread_of_the_test_is_the_tests_doing(suite: Run) -> None:
    test = """
        import threading

        import driver


        def test_it():
            worker = threading.Thread(target=driver.wake)
            worker.start()
            worker.join()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, "1 failed")
    assert "this test woke cuda" in ended.text


@pytest.mark.must_hold
def test_a_thread_older_than_the_test_is_nobodys_and_fails_the_run(suite: Run) -> None:
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
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert ended.status == 1
    assert ended.text == snapshot("""\
test_it.py ..                                                            [100%]
== coldfork ==

cuda was woken by while test_it.py::test_innocent ran: test_it.py:10, cuInit

cuda was woken while test_it.py::test_innocent ran
  --> test_it.py:10  in warm
      driver.wake()
   1. wake                          driver.py:7
   2. cuInit                        initialises the CUDA driver
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100, on the thread warmer
   = help: ask in a fixture or in the test, not while the module is imported; read more: coldfork rule driver-init-at-import
== 2 passed in Ts ==
""")


def test_doctests_and_unittest_are_tests_too(suite: Run) -> None:
    files = {
        "driver.py": DRIVER,
        "test_unit.py": """
            import unittest

            import driver


            class TestIt(unittest.TestCase):
                def test_it(self):
                    driver.wake()
        """,
    }
    ended = suite(files, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, "1 failed")
    assert "  --> test_unit.py:8  in test_it\n" in ended.text


def test_a_real_runtime_without_a_witness_names_the_test(suite: Run) -> None:
    pytest.importorskip("pyopencl")
    test = """
        import pyopencl


        def test_it():
            devices = pyopencl.get_platforms()[0].get_devices()
            pyopencl.Context(devices)
    """
    ended = suite({"test_it.py": test}, "--coldfork")
    assert (ended.status, ended.outcomes) == (1, "1 failed")
    assert "this test woke opencl\n  --> test_it.py:4  in test_it\n   = the line was not seen" in ended.text
    exact = suite({}, "--coldfork", "--coldfork-exact")
    assert "this test woke opencl\n  --> test_it.py:" in exact.text
    assert "the line was not seen" not in exact.text


def test_junit_files_hold_the_account(suite: Run, tmp_path: object) -> None:
    test = "import driver\n\n\ndef test_it():\n    driver.wake()\n"
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, "--junit-xml=out.xml")
    assert ended.status == 1
    written = (tmp_path / "out.xml").read_text(encoding="utf-8")  # type: ignore[operator]
    assert 'message="Failed: this test woke cuda' in written
