"""GitLab's Code Quality report, which merge requests show as a summary and beside the changed lines."""

from __future__ import annotations

import json
from typing import Any

from coldfork.model.findings import Report, Severity
from coldfork.report.findings.hosts.annotations import Annotation, listed
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.options import Options

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "minor"}


def render(report: Report, options: Options) -> str:
    """Write an array with one object for each cause and new way, in plain ASCII."""
    return json.dumps([_issue(one, options) for one in listed(report, options)], indent=2) + "\n"


def _issue(annotation: Annotation, options: Options) -> dict[str, Any]:
    finding = annotation.finding
    # GitLab requires a line number, although it shows the raw JSON of notebooks.
    lines = {"begin": annotation.line or 1}
    if annotation.line is not None and finding.end_line is not None and finding.end_line > annotation.line:
        lines["end"] = finding.end_line
    return {
        "type": "issue",
        "check_name": f"coldfork: {well_formed(finding.rule)}",
        "description": well_formed("\n".join(annotation.sentences)),
        "categories": ["Bug Risk"],
        # The fingerprint ignores line numbers, so that GitLab recognises a finding after other lines have
        # changed.
        "fingerprint": well_formed(finding.id),
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": well_formed(options.locate(finding.path)), "lines": lines},
    }
