"""Runs that ended well and prove nothing: when that refutes a finding, and when it says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.launch.plumbing.ask import Ended
from coldfork.launch.probe.proofs import Seen, site_of, without_proof
from coldfork.model.effects import Chain, Verdict
from coldfork.model.findings import Confirmed, Finding, Severity, Way
from coldfork.model.timelines import Cut, Recording

WELL = Ended(0, None, timed_out=False, output="", cut=False)
RECORDED = Recording("a recording")


def found(rule: str, accelerator: str = "cuda") -> Finding:
    return Finding(
        id="1",
        rule=rule,
        severity=Severity.ERROR,
        verdict=Verdict.CERTAIN,
        condition=None,
        presumed=(),
        accelerator=None,
        effect="forks",
        module="run",
        path="run.py",
        line=1,
        column=0,
        position=None,
        test=False,
        message="",
        consequence="",
        remedy="",
        chain=Chain(()),
        ways=(Way("before", "woken before, at", Chain(()), "creates-context", accelerator),),
    )


@pytest.mark.parametrize(
    ("finding", "recording", "ended", "confirmed", "said"),
    [
        (
            found("fork-after-device-init"),
            RECORDED,
            WELL,
            Confirmed.COLD,
            "python run.py ended without forking at this line, on real",
        ),
        (
            found("fork-after-device-init", "jax"),
            RECORDED,
            WELL,
            Confirmed.NOT_TESTABLE,
            "it is unknown whether there is a device for jax",
        ),
        (
            found("fork-after-device-init"),
            None,
            WELL,
            Confirmed.NOT_TESTABLE,
            "nothing was recorded of python run.py",
        ),
        (
            found("fork-after-device-init"),
            Recording("a recording", cut=Cut(1.0, "limit")),
            WELL,
            Confirmed.NOT_TESTABLE,
            "the recording of python run.py became too large",
        ),
        (
            found("unpicklable-target"),
            None,
            WELL,
            Confirmed.COLD,
            "python run.py ended, and Python printed no such error",
        ),
        (
            found("unpicklable-target"),
            None,
            Ended(0, None, timed_out=False, output="", cut=True),
            Confirmed.NOT_TESTABLE,
            ("python run.py printed so much that only the end of its output was searched for an error"),
        ),
        (
            found("missing-main-guard"),
            None,
            Ended(None, "SIGSEGV", timed_out=False, output="", cut=False),
            Confirmed.NOT_TESTABLE,
            "python run.py was ended by SIGSEGV before it could show this",
        ),
    ],
)
def test_what_a_run_without_a_proof_says(
    finding: Finding, recording: Recording | None, ended: Ended, confirmed: Confirmed, said: str
) -> None:
    seen = Seen("python run.py", "real", "", recording, frozenset({"cuda"}))
    assert without_proof(finding, site_of(finding, "nowhere.py"), seen, ended, 9.0) == (confirmed, said)


def test_a_statement_ends_where_the_block_below_it_begins(tmp_path: Path) -> None:
    file = tmp_path / "run.py"
    file.write_text("with pool(\n    2\n):\n    one(\n        1\n    )\n", encoding="utf-8")
    assert site_of(found("fork-after-device-init"), str(file)).lines == range(1, 4)
