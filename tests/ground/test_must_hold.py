"""A promise that was skipped is a broken one when --must-hold-strict asks for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

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
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with this project's conftest, promises of all kinds, and no plugin but xdist."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.plugins.append("xdist.plugin")
    tests = Path(__file__).parent.parent
    pytester.makeconftest((tests / "conftest.py").read_text(encoding="utf-8"))
    (pytester.path / "tests").mkdir()
    shutil.copy(tests / "amounts.py", pytester.path / "tests")
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


NEEDY = """
import pytest

def test_given():
    pytest.importorskip("given_to_all")

def test_for_another_python():
    pytest.importorskip("given_to_none")

def test_nobody_promised():
    pytest.importorskip("some_module")
"""
GROUP = """
[dependency-groups]
runtimes = [{ include-group = "examples" }, "given_to_none; python_version < '3'"]
examples = ["given_to_all"]
"""


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_runtime_that_should_be_installed_and_is_not_fails(
    suite: pytest.Pytester, processes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that this Python was never given is skipped, as is what no group names."""
    suite.makepyprojecttoml(GROUP)
    suite.makepyfile(test_needy=NEEDY, test_whole="import pytest\npytest.importorskip('given_to_all.part')\n")
    monkeypatch.setenv("COLDFORK_RUNTIMES", "installed")
    result = suite.runpytest_subprocess(
        "-n", processes, "--continue-on-collection-errors", "test_needy.py", "test_whole.py"
    )
    result.assert_outcomes(skipped=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*test_given needs given_to_all, which ./dev should have installed"])
    result.stdout.fnmatch_lines(["*test_whole.py needs given_to_all, which ./dev should have installed"])


def test_who_installed_nothing_may_skip(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `./dev` nobody said that the runtimes were there."""
    monkeypatch.delenv("COLDFORK_RUNTIMES", raising=False)
    suite.makepyprojecttoml(GROUP)
    suite.makepyfile(test_needy=NEEDY)
    suite.runpytest_subprocess("-n0", "test_needy.py").assert_outcomes(skipped=3)
