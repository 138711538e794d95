"""sync-in-captured-region: what is said of it, how loudly, and when it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from inline_snapshot import snapshot

from coldfork.model.captures import CaptureKind
from coldfork.model.effects import IgnoreComment, Verdict
from coldfork.model.findings import Finding, Severity
from coldfork.rules import registry
from tests.rules.capturing import captured, judged, observed

Say = Callable[[Finding], str]
KIND = CaptureKind.SYNCHRONISES
WHAT = "lengths.max().item()"


def test_says_what_happens_where_and_what_to_do(said: Say) -> None:
    assert said(judged(captured(KIND, WHAT))) == snapshot("""\
error[sync-in-captured-region] captured code waits for the device: lengths.max().item() at
  engine/backend.py:17
captured by Runner.capture
a stream that is captured refuses this, and the capture is lost
do it before the capture, or keep the value on the device\
""")


@pytest.mark.parametrize(
    ("verdict", "severity"),
    [
        (Verdict.CERTAIN, Severity.ERROR),
        (Verdict.CONDITIONAL, Severity.WARNING),
        (Verdict.POSSIBLE, Severity.NOTE),
    ],
)
def test_is_as_loud_as_it_is_sure(verdict: Verdict, severity: Severity) -> None:
    finding = judged(captured(KIND, WHAT, verdict=verdict, condition="self.lazy"))
    assert (finding.severity, finding.verdict, finding.condition) == (severity, verdict, "self.lazy")


def test_stands_where_the_capture_begins_and_keeps_the_way() -> None:
    effect = captured(KIND, WHAT)
    finding = judged(effect)
    assert (finding.path, finding.line, finding.chain) == ("engine/runner.py", 40, effect.chain)
    assert (finding.accelerator, finding.effect, finding.position) == (None, None, None)


@pytest.mark.parametrize("kind", [kind for kind in CaptureKind if kind is not KIND])
def test_other_things_in_captured_code_are_not_its_business(kind: CaptureKind) -> None:
    assert registry.judge(observed(captured(kind, WHAT)), ["sync-in-captured-region"]) == ()


def test_a_comment_at_the_capture_holds_it_back() -> None:
    comment = IgnoreComment("engine/runner.py", 40, 60, ("sync-in-captured-region",), "measured", (40, 40))
    judgement = registry.judge_all(observed(captured(KIND, WHAT), ignores=(comment,)))
    assert judgement.findings == ()
    assert [finding.rule for finding in judgement.ignored] == ["sync-in-captured-region"]
