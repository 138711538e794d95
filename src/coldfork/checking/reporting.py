"""Makes the report from an inspection, by applying the baseline and the limits of the check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.model.findings import Report
from coldfork.model.observations import Coverage, LeftOut
from coldfork.model.terms.machines import PROFILES

if TYPE_CHECKING:
    from coldfork.checking.inspection import Inspection


def report_of(inspection: Inspection) -> Report:
    """Return the report of a check, including the number of causes that make the check fail."""
    request = inspection.request
    findings, causes, known, gone = inspection.findings, inspection.causes, 0, 0
    if request.baseline:
        from coldfork.checking.baseline_file import load
        from coldfork.checking.remainder import remainder

        left = remainder(load(Path(request.baseline)), inspection)
        findings, causes, known, gone = left.findings, left.causes, left.known, left.gone
    scope = inspection.scope
    if scope is not None:
        from coldfork.checking.changes import narrowed

        findings, scope = narrowed(findings, scope)
    if causes:
        from coldfork.rules.causes.judging import restricted

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
