"""reviewdog's diagnostic format: comments on a pull request, with the fix as a suggestion to accept."""

from __future__ import annotations

import json
from typing import Any

from coldfork.model.causes import Applicability, Edit, Fix
from coldfork.model.findings import Finding, Report, Severity
from coldfork.report.findings.hosts.annotations import Annotation, listed
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.options import Options

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def render(report: Report, options: Options) -> str:
    """Write one object with a diagnostic for each cause and new way, in plain ASCII."""
    diagnostics = [_diagnostic(one, report, options) for one in listed(report, options)]
    return json.dumps({"source": {"name": "coldfork"}, "diagnostics": diagnostics}, indent=2) + "\n"


def _diagnostic(annotation: Annotation, report: Report, options: Options) -> dict[str, Any]:
    finding = annotation.finding
    location: dict[str, Any] = {"path": well_formed(options.locate(finding.path))}
    if annotation.line is not None:
        location["range"] = {"start": {"line": annotation.line, "column": _column(finding)}}
    code = {"value": well_formed(finding.rule)}
    text = options.rules.get(finding.rule)
    if text is not None and text.url:
        code["url"] = text.url
    diagnostic: dict[str, Any] = {
        "message": well_formed("\n".join(annotation.sentences)),
        "location": location,
        "severity": _SEVERITIES[finding.severity],
        "code": code,
    }
    fix = report.fixes.get(annotation.cause.id)
    if isinstance(fix, Fix) and annotation.line is not None:
        suggestions = _suggestions(fix, finding)
        if suggestions:
            diagnostic["suggestions"] = suggestions
    return diagnostic


def _column(finding: Finding) -> int:
    """Return the column as a count of UTF-8 bytes, beginning at 1."""
    before = "" if finding.caret is None else finding.text[: finding.caret]
    return finding.column + 1 + len(well_formed(before).encode()) - len(before)


def _suggestions(fix: Fix, finding: Finding) -> list[dict[str, Any]]:
    """Return the edit of a safe fix if it is the only one, because accepting half of a fix would do harm."""
    if fix.applicability is not Applicability.SAFE or len(fix.edits) != 1:
        return []
    edit = fix.edits[0]
    if edit.path != finding.path or not _is_of_whole_lines(edit):
        return []
    span = {
        "start": {"line": edit.line, "column": edit.column},
        "end": {"line": edit.end_line, "column": edit.end_column},
    }
    return [{"range": span, "text": well_formed(edit.text)}]


def _is_of_whole_lines(edit: Edit) -> bool:
    # The byte offset is known only for the first column of a line.
    return edit.column == edit.end_column == 1
