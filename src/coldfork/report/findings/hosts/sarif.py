"""SARIF 2.1.0, which code hosts show beside the line, with the chain as a code flow to step through."""

from __future__ import annotations

import json
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from coldfork.model.causes import Cause, Fix
from coldfork.model.effects import Step, StepKind
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.model.observations import Unfinished
from coldfork.report.findings.closing import closing_sentences
from coldfork.report.findings.words import (
    confirmation_sentence,
    fault_sentence,
    fix_sentence,
    verdict_sentence,
)
from coldfork.report.shared.characters import one_line, well_formed
from coldfork.report.shared.effects import effect_phrase
from coldfork.report.shared.options import Options, RuleText

FINGERPRINT = "coldforkFingerprint/v1"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"

_JsonObject = dict[str, Any]


def render(report: Report, options: Options) -> str:
    """Write the report as a SARIF log with one run, in plain ASCII."""
    return json.dumps(log(report, options), indent=2) + "\n"


def log(report: Report, options: Options) -> _JsonObject:
    """Return the report as a SARIF log object."""
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report, options)]}


def _run(report: Report, options: Options) -> _JsonObject:
    rules = _rules(report, options)
    index_of = {name: index for index, name in enumerate(rules)}
    causes = {cause.id: cause for cause in report.causes}
    return {
        "tool": {"driver": _driver(rules, options)},
        "automationDetails": {"id": f"coldfork/{_percent_encoded(report.profile)}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that paths are relative to."}}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    *(_not_analysed(file, options) for file in report.skipped),
                    *(_not_finished(unfinished, options) for unfinished in report.unfinished),
                    *(
                        {"level": "note", "message": {"text": well_formed(sentence)}}
                        for sentence in closing_sentences(report)
                    ),
                ],
            }
        ],
        "results": [
            _result(finding, report, index_of[finding.rule], causes.get(finding.cause), options)
            for finding in report.findings
        ],
    }


def _rules(report: Report, options: Options) -> dict[str, RuleText]:
    """Return the rules that were run, in their order, then any other rules that findings name."""
    rules = dict(options.rules)
    for finding in report.findings:
        rules.setdefault(finding.rule, RuleText(summary=finding.rule.replace("-", " ")))
    return rules


def _driver(rules: dict[str, RuleText], options: Options) -> _JsonObject:
    driver: _JsonObject = {"name": "coldfork"}
    if options.version:
        driver["version"] = well_formed(options.version)
    driver["rules"] = [_rule(name, text) for name, text in rules.items()]
    return driver


def _rule(name: str, text: RuleText) -> _JsonObject:
    summary = well_formed(one_line(text.summary))
    markdown = text.markdown or text.summary
    rule: _JsonObject = {
        "id": well_formed(name),
        "name": "".join(word.capitalize() for word in well_formed(name).split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": summary},
        "help": {"text": f"coldfork rule {well_formed(name)}", "markdown": well_formed(markdown)},
    }
    if text.url:
        rule["helpUri"] = text.url
    return rule


def _result(
    finding: Finding, report: Report, rule_index: int, cause: Cause | None, options: Options
) -> _JsonObject:
    result: _JsonObject = {
        "ruleId": well_formed(finding.rule),
        "ruleIndex": rule_index,
        "level": finding.severity.value,
        "message": {"text": _message(finding, report.profile_of(finding.accelerator), options)},
        "locations": [{"physicalLocation": _site(finding, options)}],
        "partialFingerprints": {FINGERPRINT: well_formed(finding.id)},
        "properties": _properties(finding),
    }
    if cause is not None:
        result["relatedLocations"] = [_cause_location(cause, options)]
        result["properties"]["cause"] = well_formed(cause.id)
        result["properties"]["audience"] = cause.audience.value
        fix = report.fixes.get(cause.id)
        if isinstance(fix, Fix) and finding.id == cause.findings[0] and _has_places(fix, options):
            result["fixes"] = [_fix(fix, options)]
    if finding.chain.steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(finding, options)}]}]
    return result


def _has_places(fix: Fix, options: Options) -> bool:
    """Return whether all edits are in files with ordinary line numbers, which notebook cells do not have."""
    return not any(_is_in_cell(edit.path, edit.line, options) for edit in fix.edits)


def _fix(fix: Fix, options: Options) -> _JsonObject:
    """Return a fix: a description of what applying it does, and the edits of each file."""
    changes: dict[str, list[_JsonObject]] = {}
    for edit in fix.edits:
        region = {
            "startLine": edit.line,
            "startColumn": edit.column,
            "endLine": edit.end_line,
            "endColumn": edit.end_column,
        }
        replacement: _JsonObject = {"deletedRegion": region}
        if edit.text:
            replacement["insertedContent"] = {"text": well_formed(edit.text)}
        changes.setdefault(edit.path, []).append(replacement)
    return {
        "description": {"text": well_formed(one_line(fix_sentence(fix)))},
        "artifactChanges": [
            {"artifactLocation": _artifact(path, options), "replacements": replacements}
            for path, replacements in changes.items()
        ],
        "properties": {"applicability": fix.applicability.value},
    }


def _cause_location(cause: Cause, options: Options) -> _JsonObject:
    words = f"the cause: {cause.call}" if cause.call else "the cause"
    if cause.warms > 1:
        words += f", which wakes {cause.warms} modules"
    place: _JsonObject = {"artifactLocation": _artifact(cause.path, options)}
    if cause.line >= 1 and not _is_in_cell(cause.path, cause.line, options):
        place["region"] = {"startLine": cause.line}
    return {"physicalLocation": place, "message": {"text": well_formed(words)}}


def _is_in_cell(path: str, line: int, options: Options) -> bool:
    """Return True for a line in a notebook's cell, whose line number in the notebook's JSON is unknown."""
    return options.cell(path, line)[0] is not None


def _message(finding: Finding, profile: str, options: Options) -> str:
    cell, line = options.cell(finding.path, finding.line)
    parts = (
        finding.message if cell is None else f"cell {cell}, line {line}: {finding.message}",
        finding.consequence,
        verdict_sentence(finding, profile),
        confirmation_sentence(finding),
        finding.remedy,
    )
    return well_formed("\n".join(one_line(part).rstrip(".") + "." for part in parts if part.strip()))


def _properties(finding: Finding) -> _JsonObject:
    properties: _JsonObject = {
        "verdict": finding.verdict.value,
        "condition": None if finding.condition is None else well_formed(finding.condition),
        "presumed": [well_formed(presumption) for presumption in finding.presumed],
        "accelerator": None if finding.accelerator is None else well_formed(finding.accelerator),
    }
    if finding.confirmed is not None:
        properties["confirmed"] = finding.confirmed
    return properties


def _site(finding: Finding, options: Options) -> _JsonObject:
    place: _JsonObject = {"artifactLocation": _artifact(finding.path, options)}
    if finding.line >= 1 and not _is_in_cell(finding.path, finding.line, options):
        region: _JsonObject = {"startLine": finding.line, "startColumn": finding.column + 1}
        if finding.end_line is not None and finding.end_line >= finding.line:
            region["endLine"] = finding.end_line
        place["region"] = _with_snippet(
            region, finding.text or "".join(step.text for step in finding.chain.steps[:1])
        )
    return place


def _flow(finding: Finding, options: Options) -> list[_JsonObject]:
    last = len(finding.chain.steps) - 1
    return [
        {
            "location": _step_location(step, finding, options),
            "nestingLevel": index,
            "kinds": ["import" if step.kind is StepKind.IMPORT else "call"],
            "importance": "essential" if index in (0, last) else "important",
        }
        for index, step in enumerate(finding.chain.steps)
    ]


def _step_location(step: Step, finding: Finding, options: Options) -> _JsonObject:
    words = well_formed(step.symbol)
    if step.kind is StepKind.SINK:
        phrase = effect_phrase(finding.effect, finding.accelerator)
        words = f"{words} {well_formed(phrase)}".strip()
    location: _JsonObject = {"message": {"text": words}}
    if step.path is not None:
        place: _JsonObject = {"artifactLocation": _artifact(step.path, options)}
        if step.line is not None and step.line >= 1 and not _is_in_cell(step.path, step.line, options):
            place["region"] = _with_snippet({"startLine": step.line}, step.text)
        location["physicalLocation"] = place
    return location


def _with_snippet(region: _JsonObject, text: str) -> _JsonObject:
    return {**region, "snippet": {"text": well_formed(text)}} if text else region


def _not_analysed(file: Skipped, options: Options) -> _JsonObject:
    place = {"artifactLocation": _artifact(file.path, options)}
    return _notification("warning", f"not analysed: {one_line(file.reason)}", place)


def _not_finished(unfinished: Unfinished, options: Options) -> _JsonObject:
    if not unfinished.path:
        return _notification("error", fault_sentence(unfinished))
    place: _JsonObject = {"artifactLocation": _artifact(unfinished.path, options)}
    if unfinished.line >= 1 and not _is_in_cell(unfinished.path, unfinished.line, options):
        place["region"] = {"startLine": unfinished.line}
    if unfinished.fault:
        return _notification("error", fault_sentence(unfinished), place)
    text = f"{unfinished.module} was not followed to its end: the {unfinished.what} ended here"
    return _notification("note", text, place)


def _notification(level: str, text: str, place: _JsonObject | None = None) -> _JsonObject:
    located: _JsonObject = {} if place is None else {"locations": [{"physicalLocation": place}]}
    return {"level": level, "message": {"text": well_formed(text)}, **located}


def _artifact(path: str, options: Options) -> _JsonObject:
    located = options.locate(path)
    if PurePosixPath(located).is_absolute():
        return {"uri": f"file:///{_percent_encoded(located.lstrip('/'))}"}
    if PureWindowsPath(located).is_absolute():
        return {"uri": f"file:///{_percent_encoded(PureWindowsPath(located).as_posix())}"}
    return {"uri": _percent_encoded(located), "uriBaseId": _ROOT}


def _percent_encoded(path: str) -> str:
    return quote(_path_bytes(path), safe="/")


def _path_bytes(path: str) -> bytes:
    # Lone surrogates that stand for undecodable bytes of a file name become those bytes again; others are
    # escaped.
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "backslashreplace")
