"""What the rules about CUDA graphs share: how a finding is drafted, and its words."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.captures import CaptureEffect, CaptureKind
from coldfork.model.findings import Finding
from coldfork.rules.findings import drafting
from coldfork.rules.findings.case import Case


def of_kind(case: Case, kind: CaptureKind) -> Iterator[CaptureEffect]:
    """What was seen of one kind."""
    return (effect for effect in case.observation.captured if effect.kind is kind)


def draft(effect: CaptureEffect, *, rule: str, message: str, consequence: str, remedy: str) -> Finding:
    """A finding about captured code: it stands where the capture begins."""
    return Finding(
        id="",
        rule=rule,
        severity=drafting.severity(effect.verdict, effect.test),
        verdict=effect.verdict,
        condition=effect.condition,
        presumed=(),
        accelerator=None,
        effect=None,
        module=effect.module,
        path=effect.path,
        line=effect.line,
        column=effect.column,
        position=None,
        test=effect.test,
        message=message,
        consequence=consequence,
        remedy=remedy,
        chain=effect.chain,
        text=effect.text,
        where=f"captured by {effect.captor}",
        end_line=effect.end_line,
    )


def place(effect: CaptureEffect) -> str:
    """`engine/backend.py:17`: the line to blame."""
    path, line = effect.culprit
    return f"{path}:{line}" if path is not None else ""


def culprit(effect: CaptureEffect) -> str:
    """The function whose line is to blame."""
    return next((s.symbol for s in reversed(effect.chain.steps) if s.line is not None), effect.captor)


def earlier(effect: CaptureEffect) -> str:
    """`, as at engine/backend.py:17`: where the warm-up did it, if that is another line."""
    if effect.earlier is None or f"{effect.earlier[0]}:{effect.earlier[1]}" == place(effect):
        return ""
    return f" (set at {effect.earlier[0]}:{effect.earlier[1]})"
