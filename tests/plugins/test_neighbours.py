"""Runs in which other plugins change how a test is run."""

from __future__ import annotations

import pytest

from tests.plugins.conftest import DRIVER, WATCHED, Run

pytestmark = pytest.mark.once

WAKING = (
    "import driver\n\n\ndef test_waking():\n    driver.wake()\n\n\ndef test_later():\n    driver.wake()\n"
)

#: Runs each test again that failed, as pytest-rerunfailures does.
AGAIN = """
    import pytest
    from _pytest.runner import runtestprotocol


    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item, nextitem):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if any(report.failed for report in reports):
            item._initrequest()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        return True
"""

#: Runs each test in a forked child, as pytest-forked does, and under the same option.
APART = """
    import json
    import os

    import pytest
    from _pytest.runner import runtestprotocol


    def pytest_addoption(parser):
        parser.addoption("--forked", action="store_true")


    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item, nextitem):
        hook = item.config.hook
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            written = [hook.pytest_report_to_serializable(config=item.config, report=one) for one in reports]
            os.write(writing, json.dumps(written).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as stream:
            for data in json.load(stream):
                report = hook.pytest_report_from_serializable(config=item.config, data=data)
                item.ihook.pytest_runtest_logreport(report=report)
        os.waitpid(child, 0)
        return True
"""

#: Calls a test through layers of its own, as pytest-asyncio does.
LAYERS = """
    import contextlib

    import pytest


    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        with contextlib.ExitStack() as stack:
            stack.callback(pyfuncitem.obj)
        return True
"""


@pytest.mark.must_hold
def test_running_a_test_again_does_not_hide_that_it_woke_the_device(suite: Run) -> None:
    ended = suite({"driver.py": DRIVER, "conftest.py": AGAIN, "test_it.py": WAKING}, *WATCHED)
    assert (ended.status, ended.outcomes) == (1, "1 failed, 1 passed")
    assert "FAILED test_it.py::test_waking - Failed: this test woke cuda\n" in ended.printed


def test_tests_in_forked_children_are_watched_there(suite: Run) -> None:
    files = {"driver.py": DRIVER, "apart.py": APART, "test_it.py": WAKING}
    ended = suite(files, *WATCHED, "-p", "apart", "--forked")
    assert (ended.status, ended.outcomes) == (1, "2 failed")
    assert "this test woke cuda\n  --> test_it.py:5  in test_waking\n" in ended.printed
    assert "this test woke cuda\n  --> test_it.py:9  in test_later\n" in ended.printed
    assert "no device was woken outside of the tests, which ran in forked processes; " in ended.printed


def test_what_another_plugin_puts_around_a_test_is_not_named(suite: Run) -> None:
    files = {"driver.py": DRIVER, "site-packages/layers.py": LAYERS, "test_it.py": WAKING}
    ended = suite(files, *WATCHED, "-p", "layers", "-o", "pythonpath=site-packages")
    assert (ended.status, ended.outcomes) == (1, "1 failed, 1 passed")
    assert "this test woke cuda\n  --> test_it.py:5  in test_waking\n      driver.wake()\n   1. wake " in (
        ended.printed
    )


def test_a_test_of_hypothesis_is_named_by_its_own_line(suite: Run) -> None:
    pytest.importorskip("hypothesis")
    test = """
        import driver
        from hypothesis import given
        from hypothesis.strategies import integers


        @given(integers())
        def test_it(number):
            driver.wake()
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, "-W", "ignore")
    assert ended.status == 1
    assert "this test woke cuda\n  --> test_it.py:" in ended.printed
    assert "test_it.py:8" in ended.printed


def test_it_works_beside_a_tracer(suite: Run) -> None:
    """As coverage sets one: the exact line is then not found before Python 3.12, and nothing else is lost."""
    test = """
        import sys

        import driver


        def trace(frame, event, argument):
            return trace


        sys.settrace(trace)


        def test_it():
            driver.wake()
            assert sys.gettrace() is trace
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED, "--coldfork-exact")
    assert ended.status == 1
    assert "this test woke cuda\n  --> test_it.py:14  in test_it\n" in ended.printed
    assert "assert sys.gettrace() is trace" not in ended.printed
