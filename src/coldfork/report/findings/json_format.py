"""The JSON of `coldfork check`: schema_version 1, stable, described by `schemas/check.schema.json`.

Every finding stands on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

from typing import Any

from coldfork.model.chains import Step
from coldfork.model.findings import Finding, Report
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, optional
from coldfork.report.shared.options import Options

SCHEMA_VERSION = 1


def render(report: Report, options: Options) -> str:
    """Write the report as JSON in plain ASCII, which no stream can garble."""
    return dump(document(report, options))


def document(report: Report, options: Options) -> dict[str, Any]:
    """The report as JSON objects, keys in the order of the schema."""
    statistics = report.statistics
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "coldfork", "version": options.version},
        "profile": well_formed(report.profile),
        "stats": {
            "modules": statistics.modules,
            "read": statistics.read,
            "cached": statistics.cached,
            "seconds": round(statistics.seconds, 3),
        },
        "findings": [finding_object(finding) for finding in report.findings],
        "skipped": [
            {"path": well_formed(skipped.path), "reason": well_formed(skipped.reason)}
            for skipped in report.skipped
        ],
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """One finding as a JSON object."""
    return {
        "id": well_formed(finding.id),
        "rule": well_formed(finding.rule),
        "severity": finding.severity.value,
        "verdict": finding.verdict.value,
        "condition": optional(finding.condition),
        "presumed": [well_formed(presumption) for presumption in finding.presumed],
        "accelerator": optional(finding.accelerator),
        "effect": optional(finding.effect),
        "module": well_formed(finding.module),
        "path": well_formed(finding.path),
        "line": finding.line,
        "column": finding.column,
        "position": optional(finding.position),
        "test": finding.test,
        "confirmed": optional(finding.confirmed),
        "confirmation": optional(finding.confirmation or None),
        "message": well_formed(finding.message),
        "remedy": well_formed(finding.remedy),
        "fix": optional(finding.fix),
        "chain": [step_object(step) for step in finding.chain.steps],
    }


def step_object(step: Step) -> dict[str, Any]:
    """One step of a chain as a JSON object."""
    return {
        "kind": step.kind.value,
        "path": optional(step.path),
        "line": step.line,
        "symbol": well_formed(step.symbol),
        "text": well_formed(step.text),
    }
