"""`clean` is said only where each replay is right, and a leak is called proven only where one is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.graphs import Report, check
from tests.amounts import examples
from tests.graphs.forwards import Forward

torch: Any = pytest.importorskip("torch")

INPUTS = ("hidden", "slots", "lens", "starts", "flags")


def report_on(forward: Forward) -> Report:
    """The answer of a check, with what the program says of itself."""
    loaded = forward.load()
    if loaded["FED"]:
        loaded["feed"](0)
    return check(
        loaded["create"],
        forward.sizes(loaded),
        inputs={name: loaded[name] for name in INPUTS},
        persistent=[loaded["cache"]],
        prepare=loaded["feed_one"] if loaded["PREPARED"] else None,
    )


@pytest.mark.must_hold
@settings(deadline=None, max_examples=examples(2))
@given(forward=st.builds(Forward, st.integers(0, 1 << 30)))
def test_clean_means_right_and_proven_means_wrong(forward: Forward) -> None:
    wrong = forward.replays_wrong(range(1, 51))
    report = report_on(forward)
    assert not (report.answer == "clean" and wrong), forward
    assert wrong or not any(leak.proven for leak in report.leaks), f"{forward}\n{report}"
