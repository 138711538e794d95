"""A test that hangs fails, with the places where its threads stood, and the tests after it run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

pytest_plugins = ["pytester"]

TESTS = """
import threading

import pytest

def wait_for_ever():
    threading.Event().wait()

@pytest.fixture
def without_end():
    yield
    wait_for_ever()

def test_hangs():
    threading.Thread(target=wait_for_ever, daemon=True).start()
    threading.Event().wait()

def test_fails_and_then_hangs(without_end):
    raise AssertionError

def test_comes_after_them():
    pass
"""


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_test_that_hangs_fails_and_the_others_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLDFORK_TEST_PATIENCE", "1")
    pytester.plugins.append("xdist.plugin")
    tests = Path(__file__).parent.parent
    pytester.makeconftest((tests / "conftest.py").read_text(encoding="utf-8"))
    (pytester.path / "tests").mkdir()
    shutil.copy(tests / "amounts.py", pytester.path / "tests")
    pytester.makepyfile(test_waiting=TESTS)
    result = pytester.runpytest_subprocess("-n", processes, "-rA", timeout=300)
    result.assert_outcomes(passed=1, failed=2, errors=1)
    result.stdout.fnmatch_lines(["FAILED *::test_hangs - Failed: it hangs; *"])
    result.stdout.fnmatch_lines(["ERROR *::test_fails_and_then_hangs - Failed: it hangs; *"])
    result.stdout.fnmatch_lines(["PASSED *::test_comes_after_them"])
    result.stderr.fnmatch_lines(["Thread 0x*", "*in wait_for_ever", "Current thread 0x*", "*in test_hangs"])
