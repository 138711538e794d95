"""capture-reuses-warmup-state: what is said of it."""

from __future__ import annotations

from collections.abc import Callable

from inline_snapshot import snapshot

from coldfork.model.captures import CaptureKind
from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding
from tests.rules.capturing import captured, judged

Say = Callable[[Finding], str]
KIND = CaptureKind.REUSES_STATE
WHAT = "metadata.plan"


def test_says_what_happens_where_and_what_to_do(said: Say) -> None:
    assert said(judged(captured(KIND, WHAT))) == snapshot("""\
error[capture-reuses-warmup-state] Backend.forward is captured with metadata.plan already
  set by the warm-up
captured by Runner.capture
what is done on the first run only is missing from the graph: a replay computes with what
  the warm-up left
create what holds metadata.plan again for the capture, after the warm-up\
""")


def test_names_the_line_that_set_it_where_that_is_another_one() -> None:
    finding = judged(captured(KIND, WHAT, earlier=("engine/planner.py", 9)))
    assert finding.message.endswith(" already set by the warm-up (set at engine/planner.py:9)")
    assert "(set at" not in judged(captured(KIND, WHAT, earlier=("engine/backend.py", 17))).message


def test_says_that_it_may_not_be_so() -> None:
    message = judged(captured(KIND, WHAT, verdict=Verdict.CONDITIONAL)).message
    assert message == "Backend.forward can be captured with metadata.plan already set by the warm-up"
