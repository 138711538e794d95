"""Logs that have nothing to do with a device in the wrong process are never blamed on one."""

from __future__ import annotations

import pytest

from tests.diagnose.corpus import explained, unrelated
from tests.diagnose.unrelated.failures import PYTHON, TEXTS


@pytest.mark.must_hold
def test_no_unrelated_failure_is_a_story() -> None:
    logs = list(unrelated())
    assert len(logs) >= 500
    assert len({*PYTHON, *TEXTS}) >= 170
    assert [name for name, text in logs if explained(text).stories] == []


def test_an_unrelated_error_is_listed_as_unexplained() -> None:
    said = explained(
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'cuda'\n"
    )
    assert [(error.evidence.line, error.evidence.text) for error in said.unexplained] == [
        (3, "KeyError: 'cuda'")
    ]
