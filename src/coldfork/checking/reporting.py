"""Makes the report from an inspection, by applying the baseline and the limits of the check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.checking.changes import narrowed
from coldfork.checking.inspection import Inspection
from coldfork.model.causes import Cause
from coldfork.model.effects import PROFILES
from coldfork.model.findings import Finding, Report
from coldfork.model.observations import Coverage, LeftOut
from coldfork.rules import registry
from coldfork.rules.causes.judging import restricted, since
from coldfork.rules.causes.newcomers import newly_warm

if TYPE_CHECKING:
    from coldfork.checking.baseline_file import Baseline


@dataclass(frozen=True, slots=True)
class Remainder:
    """The findings that the baseline does not accept, and how many it accepts."""

    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    known: int
    gone: int


def remainder(held: Baseline, inspection: Inspection) -> Remainder:
    """Compare the current findings, and the modules they wake, with a baseline."""
    from coldfork.checking.baseline_file import set_against

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


def report_of(inspection: Inspection) -> Report:
    """Return the report of a check, including the number of causes that make the check fail."""
    request = inspection.request
    findings, causes, known, gone = inspection.findings, inspection.causes, 0, 0
    if request.baseline:
        from coldfork.checking.baseline_file import load

        left = remainder(load(Path(request.baseline)), inspection)
        findings, causes, known, gone = left.findings, left.causes, left.known, left.gone
    findings, scope = narrowed(findings, inspection.scope)
    causes = restricted(causes, findings)
    return Report(
        profile=request.main_profile,
        findings=findings,
        skipped=inspection.skipped,
        statistics=inspection.observation.statistics,
        known=known,
        gone=gone,
        ignored=inspection.ignored,
        failing=sum(cause.counts(request.fail_on, request.fail_for) for cause in causes),
        causes=causes,
        scope=scope,
        environment=inspection.environment,
        unfinished=inspection.observation.unfinished,
        coverage=_coverage(inspection),
        further=inspection.observation.further,
    )


def _excluded(inspection: Inspection) -> Iterator[LeftOut]:
    """Yield the files that were given as paths but are excluded by the configuration's `exclude`."""
    for module in inspection.observation.modules if inspection.request.configuration.exclude else ():
        path = inspection.locate(module.path)
        if inspection.is_excluded(path):
            yield LeftOut(path, 1, "exclude in the configuration")


def _coverage(inspection: Inspection) -> Coverage:
    observation = inspection.observation
    return Coverage(
        modules=observation.statistics.own_modules,
        read=observation.statistics.modules,
        entries=inspection.request.entries,
        unfollowed=observation.unfollowed,
        unparsed=observation.unparsed,
        left_out=(*observation.left_out, *_excluded(inspection)),
        not_asked=tuple(name for name in PROFILES if name not in observation.profiles),
    )
