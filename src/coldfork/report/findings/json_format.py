"""The JSON of `coldfork check`: schema_version 1, stable, described by `schemas/check.schema.json`.

Every finding is on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

from typing import Any

from coldfork.model.causes import Cause, Fix, Refusal
from coldfork.model.effects import StartedProgram, Step
from coldfork.model.findings import Finding, Report
from coldfork.model.observations import ChangeScope, EnvironmentRead, Unfinished
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, headed, optional
from coldfork.report.shared.options import Options


def render(report: Report, options: Options) -> str:
    """Write the report as JSON in plain ASCII, which no stream can garble."""
    return dump(document(report, options))


def document(report: Report, options: Options) -> dict[str, Any]:
    """Return the report as a JSON object, with keys in the order of the schema."""
    statistics = report.statistics
    contents = {
        "profile": well_formed(report.profile),
        "profiles": [well_formed(name) for name in report.profiles],
        "stats": {
            "modules": statistics.modules,
            "read": statistics.read,
            "cached": statistics.cached,
            "seconds": round(statistics.seconds, 3),
        },
        "findings": [finding_object(finding, options) for finding in report.findings],
        "causes": [cause_object(cause, report, options) for cause in report.causes],
        "unfinished": [unfinished_object(unfinished, options) for unfinished in report.unfinished],
        "skipped": [
            {
                "path": well_formed(skipped.path),
                "file": well_formed(options.locate(skipped.path)),
                "reason": well_formed(skipped.reason),
            }
            for skipped in report.skipped
        ],
        "coverage": _coverage_object(report),
        "environment": _environment_object(report.environment),
        "changed": _scope_object(report.scope),
        "proof": _proof_object(report),
    }
    return headed(contents, options)


def _proof_object(report: Report) -> dict[str, Any] | None:
    if report.proof is None:
        return None
    from coldfork.report.proof import proof_object

    return proof_object(report.proof)


def _coverage_object(report: Report) -> dict[str, Any]:
    coverage, environment = report.coverage, report.environment
    return {
        "modules": coverage.modules,
        "read": coverage.read,
        "entries": [well_formed(name) for name in coverage.entries],
        "unfinished": len(report.unfinished),
        "skipped": len(report.skipped),
        "not_found": [well_formed(name) for name in environment.absent] if environment is not None else [],
        "calls_not_followed": coverage.unfollowed,
        "not_parsed": coverage.unparsed,
        "left_out": [
            {"path": well_formed(one.path), "files": one.files, "reason": optional(one.reason or None)}
            for one in coverage.left_out
        ],
        "profiles_not_asked": [well_formed(name) for name in coverage.not_asked],
    }


def _environment_object(environment: EnvironmentRead | None) -> dict[str, Any] | None:
    if environment is None:
        return None
    return {
        "path": optional(environment.folder),
        "origin": environment.origin.value,
        "read": environment.read and environment.folder is not None,
        "absent": [well_formed(name) for name in environment.absent],
        "unset": [
            {"package": well_formed(package), "variable": well_formed(variable)}
            for package, variable in environment.unset
        ],
    }


def _scope_object(scope: ChangeScope | None) -> dict[str, Any] | None:
    if scope is None:
        return None
    return {
        "since": well_formed(scope.since),
        "files": [well_formed(file) for file in scope.files],
        "affected": scope.affected,
        "modules": scope.modules,
        "left_out": scope.left_out,
        "everything": optional(scope.everything or None),
    }


def _place(options: Options, path: str | None, line: int | None) -> dict[str, Any]:
    """Return a place with its path from the current folder; in a notebook, also the cell and its line."""
    if path is None:
        return {"path": None, "file": None, "cell": None, "line": line}
    cell, line = (None, None) if line is None else options.cell(path, line)
    return {
        "path": well_formed(path),
        "file": well_formed(options.locate(path)),
        "cell": cell,
        "line": line,
    }


def unfinished_object(unfinished: Unfinished, options: Options) -> dict[str, Any]:
    """Return a module whose analysis is incomplete, as a JSON object."""
    return {
        "module": optional(unfinished.module or None),
        "function": optional(unfinished.function or None),
        **_place(options, unfinished.path or None, unfinished.line or None),
        "what": unfinished.what,
        "own": unfinished.own,
        "fault": optional(unfinished.fault or None),
    }


def finding_object(finding: Finding, options: Options) -> dict[str, Any]:
    """Return a finding as a JSON object."""
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
        **_place(options, finding.path, finding.line),
        "column": finding.column,
        "position": optional(finding.position),
        "test": finding.test,
        "confirmed": optional(finding.confirmed),
        "confirmation": optional(finding.confirmation or None),
        "message": well_formed(finding.message),
        "remedy": well_formed(finding.remedy),
        "fix": None,
        "chain": [step_object(step, options) for step in finding.chain.steps],
        "ways": [
            {
                "role": way.role,
                "effect": optional(way.effect),
                "accelerator": optional(way.accelerator),
                "chain": [step_object(step, options) for step in way.chain.steps],
            }
            for way in finding.ways
        ],
        "program": _program_object(finding.program, options),
        "cause": well_formed(finding.cause),
    }


def _program_object(program: StartedProgram | None, options: Options) -> dict[str, Any] | None:
    if program is None:
        return None
    return {
        "module": well_formed(program.module),
        "path": well_formed(program.path),
        "file": well_formed(options.locate(program.path)),
        "function": optional(program.function or None),
    }


def cause_object(cause: Cause, report: Report, options: Options) -> dict[str, Any]:
    """Return a cause as a JSON object, with the ways of all woken modules or only of the outermost."""
    return {
        "id": well_formed(cause.id),
        **_place(options, cause.path, cause.line),
        "call": optional(cause.call),
        "accelerator": optional(cause.accelerator),
        "effect": optional(cause.effect),
        "verdict": cause.verdict.value,
        "condition": optional(cause.condition),
        "audience": cause.audience.value,
        "warms": cause.warms,
        "warms_certainly": cause.warms_certainly,
        "findings": [well_formed(name) for name in cause.findings],
        "remedy": well_formed(cause.remedy),
        "spares": len(cause.spares),
        "accepted": cause.accepted,
        "fix": _fix_object(report.fixes.get(cause.id), options),
        "then": [
            {**_place(options, line.path, line.line), "call": optional(line.call)} for line in cause.then
        ],
        "ways": [
            {
                "module": well_formed(way.module),
                **_place(options, way.path, way.line),
                "following": optional(way.following),
                "sure": way.sure,
            }
            for way in (cause.ways if options.all_ways else cause.outermost)
        ],
    }


def _fix_object(fix: Fix | Refusal | None, options: Options) -> dict[str, Any] | None:
    if fix is None:
        return None
    edits = fix.edits if isinstance(fix, Fix) else ()
    return {
        "applicability": fix.applicability.value if isinstance(fix, Fix) else None,
        "reason": optional(fix.reason or None),
        "edits": [
            {
                **_place(options, edit.path, edit.line),
                "column": edit.column,
                "end_line": options.cell(edit.path, edit.line)[1] + edit.end_line - edit.line,
                "end_column": edit.end_column,
                "text": well_formed(edit.text),
            }
            for edit in edits
        ],
    }


def step_object(step: Step, options: Options) -> dict[str, Any]:
    """Return a step of a chain as a JSON object."""
    return {
        "kind": step.kind.value,
        **_place(options, step.path, step.line),
        "symbol": well_formed(step.symbol),
        "text": well_formed(step.text),
    }
