"""The rules about captured code, each alike: how loudly it speaks, where, and of nothing else."""

from __future__ import annotations

import pytest

from coldfork.model.captures import CaptureKind
from coldfork.model.effects import Verdict
from coldfork.model.findings import Severity
from coldfork.model.observations import IgnoreComment
from coldfork.rules import registry
from tests.rules.capturing import captured, judged, observed

WHAT = "metadata.plan"
RULES = {
    CaptureKind.REUSES_STATE: "capture-reuses-warmup-state",
    CaptureKind.INITIALISES_LAZILY: "lazy-init-in-captured-region",
    CaptureKind.SYNCHRONISES: "sync-in-captured-region",
    CaptureKind.NOT_WARMED_UP: "capture-before-warmup",
}
each = pytest.mark.parametrize(("kind", "rule"), RULES.items(), ids=RULES.values())


def test_every_kind_has_its_rule() -> None:
    assert set(RULES) == set(CaptureKind)


@each
@pytest.mark.parametrize(
    ("verdict", "severity"),
    [
        (Verdict.CERTAIN, Severity.ERROR),
        (Verdict.CONDITIONAL, Severity.WARNING),
        (Verdict.POSSIBLE, Severity.NOTE),
    ],
)
def test_is_as_loud_as_it_is_sure(kind: CaptureKind, rule: str, verdict: Verdict, severity: Severity) -> None:
    finding = judged(captured(kind, WHAT, verdict=verdict, condition="self.lazy"))
    assert finding.rule == rule
    assert (finding.severity, finding.verdict, finding.condition) == (severity, verdict, "self.lazy")


@each
def test_stands_where_the_capture_begins_and_keeps_the_way(kind: CaptureKind, rule: str) -> None:
    effect = captured(kind, WHAT)
    finding = judged(effect)
    assert (finding.rule, finding.path, finding.line) == (rule, "engine/runner.py", 40)
    assert finding.chain == effect.chain
    assert (finding.accelerator, finding.effect, finding.position) == (None, None, None)


@each
@pytest.mark.parametrize("other", CaptureKind)
def test_other_things_in_captured_code_are_not_its_business(
    kind: CaptureKind, rule: str, other: CaptureKind
) -> None:
    found = registry.judge(observed(captured(other, WHAT)), [rule])
    assert [finding.rule for finding in found] == ([rule] if other is kind else [])


@each
def test_a_comment_at_the_capture_holds_it_back(kind: CaptureKind, rule: str) -> None:
    comment = IgnoreComment("engine/runner.py", 40, 60, (rule,), "measured", (40, 40))
    judgement = registry.judge_all(observed(captured(kind, WHAT), ignores=(comment,)))
    assert judgement.findings == ()
    assert [finding.rule for finding in judgement.ignored] == [rule]
