"""Turns an effect and a rule's sentences into a finding; the registry adds the id later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.chains import Chain
from coldfork.model.effects import Ahead, Arrival, Effect, ProcessStart, Verdict
from coldfork.model.findings import Finding, Severity, Way
from coldfork.rules.findings import wording

_BY_VERDICT = {
    Verdict.CERTAIN: Severity.ERROR,
    Verdict.CONDITIONAL: Severity.WARNING,
    Verdict.POSSIBLE: Severity.NOTE,
}
_ONE_STEP_LOWER = {
    Severity.ERROR: Severity.WARNING,
    Severity.WARNING: Severity.NOTE,
    Severity.NOTE: Severity.NOTE,
}


def severity(verdict: Verdict, test: bool) -> Severity:
    """How loudly a verdict is said; code of tests one step lower, because nobody else imports it."""
    loudness = _BY_VERDICT[verdict]
    return _ONE_STEP_LOWER[loudness] if test else loudness


def on_effect(
    effect: Effect,
    *,
    rule: str,
    message: str,
    consequence: str,
    remedy: str,
    verdict: Verdict | None = None,
    condition: str | None = None,
) -> Finding:
    """A finding about an effect; `verdict` and `condition` replace the effect's where given."""
    verdict = verdict or effect.verdict
    return Finding(
        id="",
        rule=rule,
        severity=severity(verdict, effect.test),
        verdict=verdict,
        condition=condition or effect.condition,
        presumed=effect.presumed,
        accelerator=effect.accelerator,
        effect=effect.kind.value,
        module=effect.module,
        path=effect.path,
        line=effect.line,
        column=effect.column,
        position=effect.position.value,
        test=effect.test,
        message=message,
        consequence=consequence,
        remedy=remedy,
        chain=effect.chain,
        text=effect.text,
        where=wording.where(effect),
        end_line=effect.end_line,
        turn=effect.turn,
        ahead=effect.ahead,
    )


def on_start(
    effect: Effect,
    *,
    rule: str,
    message: str,
    consequence: str,
    remedy: str,
    verdict: Verdict | None = None,
) -> Finding:
    """A finding about a line that starts processes: it is to be mended there, whatever the device is."""
    finding = on_effect(
        effect, rule=rule, message=message, consequence=consequence, remedy=remedy, verdict=verdict
    )
    start = effect.start
    return replace(
        finding,
        accelerator=None,
        condition=None if finding.verdict is Verdict.CERTAIN else finding.condition,
        where="" if start is None or start.tasks or not start.chosen else f"by {start.chosen}",
        program=None if start is None or start.arrival is Arrival.CALL else start.origin,
    )


def surety(effect: Effect) -> Verdict:
    """How sure it is that a line about processes is come to, where nothing else has to hold."""
    if effect.start is not None and effect.start.sure:
        return Verdict.CERTAIN
    return min(effect.verdict, Verdict.CONDITIONAL, key=lambda one: one.rank)


def ways(start: ProcessStart, accelerator: str) -> Iterator[Way]:
    """What led to a start: the program's own way there, the wake before it, and the use in the child."""
    if start.way.steps:
        yield Way("program", "the program comes here from", _without_sink(start.way))
    if start.before is not None:
        yield _way("before", "woken before, at", start.before, accelerator)
    if start.child is not None:
        yield _way("child", "used in the child, at", start.child, accelerator)


def _way(role: str, words: str, ahead: Ahead, accelerator: str) -> Way:
    return Way(role, words, ahead.chain, ahead.kind.value, accelerator)


def _without_sink(chain: Chain) -> Chain:
    return Chain(tuple(step for step in chain.steps if step.path is not None))


def on_file(
    path: str,
    line: int,
    column: int,
    *,
    rule: str,
    verdict: Verdict,
    message: str,
    consequence: str,
    remedy: str,
    text: str = "",
    severity: Severity = Severity.WARNING,
    caret: int | None = None,
) -> Finding:
    """A finding about a file rather than about a device: it has no chain."""
    return Finding(
        id="",
        rule=rule,
        severity=severity,
        verdict=verdict,
        condition=None,
        presumed=(),
        accelerator=None,
        effect=None,
        module=wording.dotted(path),
        path=path,
        line=line,
        column=column,
        position=None,
        test=False,
        message=message,
        consequence=consequence,
        remedy=remedy,
        chain=Chain(()),
        text=text,
        caret=caret,
    )
