"""The findings and causes that a baseline does not accept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coldfork.checking.baseline_file import Baseline, set_against
from coldfork.rules import registry
from coldfork.rules.causes.judging import since
from coldfork.rules.causes.newcomers import newly_warm

if TYPE_CHECKING:
    from coldfork.checking.inspection import Inspection
    from coldfork.model.causes import Cause
    from coldfork.model.findings import Finding


@dataclass(frozen=True, slots=True)
class Remainder:
    """The findings that the baseline does not accept, and how many it accepts."""

    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    known: int
    gone: int


def remainder(held: Baseline, inspection: Inspection) -> Remainder:
    """Compare the current findings, and the modules they wake, with a baseline."""
    comparison = set_against(held, inspection.findings)
    findings, causes = _with_new_ways(held, inspection)
    accepted = {finding.id for finding in comparison.known}
    return Remainder(
        tuple(finding for finding in findings if finding.id not in accepted),
        since(causes, findings, accepted),
        len(comparison.known),
        len(comparison.gone),
    )


def _with_new_ways(held: Baseline, inspection: Inspection) -> tuple[tuple[Finding, ...], tuple[Cause, ...]]:
    """Return findings and causes, with a finding for each module that an accepted cause newly wakes."""
    accepted = held.findings.keys() & {finding.id for finding in inspection.findings}
    found = newly_warm(
        inspection.observation,
        inspection.causes,
        inspection.findings,
        accepted,
        held.warm,
        inspection.source,
    )
    added: dict[str, list[Finding]] = {}
    for cause, effect in found:
        seen = replace(inspection.observation, effects=(effect,), unreadable=())
        kept = inspection.select(registry.judge(seen, _without_complaints(inspection.request.rules)))
        added.setdefault(cause.id, []).extend(
            replace(finding, cause=cause.id) for finding in kept if finding.id not in held.findings
        )
    findings = (*inspection.findings, *(finding for each in added.values() for finding in each))
    causes = tuple(
        replace(cause, findings=(*cause.findings, *(finding.id for finding in added.get(cause.id, ()))))
        for cause in inspection.causes
    )
    return findings, causes


def _without_complaints(rules: Sequence[str]) -> tuple[str, ...]:
    """Return the rules without the one about unused comments, which needs the findings of all others."""
    return tuple(name for name in rules if name != registry.UNUSED_IGNORE)
