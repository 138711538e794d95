"""The check speaks of programs that keep something exactly when their replays are wrong.

The oracle is a replay beside an eager run of the same program, both from a module that was just loaded.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldfork.graphs import check
from tests.amounts import LONG, examples
from tests.graphs.holders import DESCRIPTOR, HOLDERS, VALUES, Program, is_right

pytest.importorskip("numpy")

PROGRAMS = st.builds(
    Program, st.sampled_from(sorted(HOLDERS)), st.sampled_from(sorted(VALUES)), st.booleans()
)


def verdict(program: Program, folder: Path, *, declared: bool = True) -> None:
    """Compare the check with reality."""
    if program.holder == "set" and program.value in ("prefix sums", "ones", "noise"):
        return  # a set of tensors is one of addresses
    right = is_right(program, folder)
    loaded = program.load(folder)
    inputs = [loaded["tokens"]] if declared else None
    report = check(loaded["create"], [DESCRIPTOR], inputs=inputs)
    assert not report.not_compared
    assert bool(report.leaks) is not right, f"{program}: {report}"
    if report.leaks:
        lines = {frame.line for leak in report.leaks for frame in (leak.where, leak.origin) if frame}
        assert lines, str(report)


@pytest.mark.must_hold
@settings(
    deadline=None, max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(program=PROGRAMS, declared=st.booleans())
def test_the_check_speaks_exactly_when_a_replay_is_wrong(
    tmp_path: Path, program: Program, declared: bool
) -> None:
    verdict(program, tmp_path, declared=declared)


@pytest.mark.skipif(not LONG, reason="all of them take minutes")
@pytest.mark.parametrize("holder", HOLDERS)
def test_the_check_speaks_exactly_when_any_replay_is_wrong(tmp_path: Path, holder: str) -> None:
    for value in VALUES:
        for forgets in (False, True):
            for declared in (True, False):
                verdict(Program(holder, value, forgets), tmp_path, declared=declared)
