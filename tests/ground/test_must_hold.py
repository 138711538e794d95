"""A promise that was skipped is a broken one when --must-hold-strict asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.must_hold
def test_kept():
    pass

@pytest.mark.must_hold
def test_skipped_by_a_call():
    pytest.skip("no sources here")

@pytest.mark.must_hold
@pytest.mark.skipif(True, reason="wrong machine")
def test_skipped_by_a_mark():
    raise AssertionError

@pytest.mark.must_hold
@pytest.mark.xfail(reason="some day")
def test_expected_to_fail():
    raise AssertionError

def test_no_promise():
    pytest.skip("never mind")
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with this project's conftest and promises of all kinds."""
    conftest = Path(__file__).parent.parent / "conftest.py"
    pytester.makeconftest(conftest.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers = must_hold: a promise\n")
    pytester.makepyfile(test_promises=TESTS)
    return pytester


def test_without_the_switch_a_skip_is_a_skip(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-n0")
    result.assert_outcomes(passed=1, skipped=3, xfailed=1)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize("processes", ["0", "1"])
def test_with_the_switch_it_fails_and_says_why(suite: pytest.Pytester, processes: str) -> None:
    result = suite.runpytest_subprocess("--must-hold-strict", "-n", processes)
    # A skip by a mark happens while the test is set up, which pytest counts as an error.
    result.assert_outcomes(passed=1, skipped=1, failed=2, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    for reason in ("Skipped: no sources here", "Skipped: wrong machine", "expected to fail: some day"):
        result.stdout.fnmatch_lines([f"*must hold and was not run to its end: {reason}"])


def test_a_module_skipped_as_a_whole_fails_too(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_more="import pytest\npytest.importorskip('no_such_module')\n# must_hold\n")
    result = suite.runpytest_subprocess("--must-hold-strict", "-n0", "test_more.py")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*holds tests that must hold and was skipped as a whole*"])
