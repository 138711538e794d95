"""Captured code as the observer would have seen it."""

from __future__ import annotations

from typing import Any

from coldfork.model.captures import CaptureEffect, CaptureKind
from coldfork.model.chains import Chain, Step, StepKind
from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation, Statistics
from coldfork.rules.registry import judge

CAPTURE = "with torch.cuda.graph(graph):"


def captured(kind: CaptureKind, what: str, **changes: Any) -> CaptureEffect:
    """What happens at `engine/backend.py:17` in what `Runner.capture` captures."""
    steps = (
        Step(StepKind.CAPTURE, "Runner.capture", "engine/runner.py", 40, CAPTURE),
        Step(StepKind.CALL, "Runner.capture", "engine/runner.py", 41, "self.backend.forward(x, metadata)"),
        Step(StepKind.CALL, "Backend.forward", "engine/backend.py", 17, "if metadata.plan is None:"),
        Step(StepKind.SINK, what),
    )
    fields: dict[str, Any] = {
        "kind": kind,
        "verdict": Verdict.CERTAIN,
        "module": "engine.runner",
        "path": "engine/runner.py",
        "line": 40,
        "end_line": 40,
        "column": 13,
        "text": CAPTURE,
        "captor": "Runner.capture",
        "chain": Chain(steps),
        "what": what,
    }
    return CaptureEffect(**{**fields, **changes})


def observed(*effects: CaptureEffect, **changes: Any) -> Observation:
    """An observation of captured code."""
    return Observation("cuda", (), (), changes.get("ignores", ()), Statistics(1, 1, 0, 0.1), effects)


def judged(effect: CaptureEffect) -> Finding:
    """The one finding about it."""
    (finding,) = judge(observed(effect))
    return finding
