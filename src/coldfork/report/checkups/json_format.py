"""The JSON of `coldfork doctor`: schema_version 1, stable, described by `schemas/doctor.schema.json`."""

from __future__ import annotations

from typing import Any

from coldfork.model.diagnosis import CheckResult, Checkup, Health
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, headed, optional
from coldfork.report.shared.options import Options


def render(checkup: Checkup, options: Options) -> str:
    """Write the checks as JSON in plain ASCII, which no stream can garble."""
    contents = {
        "python": optional(checkup.python),
        "folders": [well_formed(folder) for folder in checkup.folders],
        "counts": {health.value: checkup.count(health) for health in Health},
        "checks": [_check(result) for result in checkup.results],
    }
    return dump(headed(contents, options))


def _check(result: CheckResult) -> dict[str, Any]:
    answer = result.answer
    return {
        "check": result.name,
        "group": result.group,
        "title": result.title,
        "status": answer.health.value,
        "message": well_formed(answer.message),
        "details": [well_formed(detail) for detail in answer.details],
        "remedies": [well_formed(remedy) for remedy in answer.remedies],
        "seconds": round(result.seconds, 4),
    }
