"""Workflow commands that GitHub Actions turns into annotations on the changed lines."""

from __future__ import annotations

from coldfork.model.causes import Cause
from coldfork.model.findings import Finding, Report, Severity
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.warmth_words import warmth_of
from coldfork.report.findings.words import (
    chain_sentence,
    confirmation_sentence,
    help_sentence,
    verdict_sentence,
)
from coldfork.report.shared.characters import Alphabet, alphabet, one_line
from coldfork.report.shared.options import Options

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, options: Options) -> str:
    """Write one workflow command for each cause and new way; the runner reads them from the log."""
    letters = alphabet(options.encoding)
    selection = Selection(report, options)
    return "".join(
        _command(finding, cause, report, options, letters) + "\n"
        for cause in selection.in_order()
        for finding in selection.entries(cause)
    )


def _command(finding: Finding, cause: Cause, report: Report, options: Options, letters: Alphabet) -> str:
    properties = {"file": letters.clean(options.locate(finding.path))}
    cell, _ = options.cell(finding.path, finding.line)
    if finding.line >= 1 and cell is None:  # of a notebook's JSON nobody knows the line
        properties["line"] = str(finding.line)
        if finding.end_line is not None and finding.end_line >= finding.line:
            properties["endLine"] = str(finding.end_line)
        properties["col"] = str(finding.column + 1)
    properties["title"] = f"coldfork: {letters.clean(finding.rule)}"
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    said = _message(finding, cause, report.profile_of(finding.accelerator), letters)
    message = data(said if cell is None else f"{options.place(finding.path, finding.line)}: {said}")
    return f"::{_COMMANDS[finding.severity]} {written}::{message}"


def _message(finding: Finding, cause: Cause, profile: str, letters: Alphabet) -> str:
    sentences = (
        finding.message,
        chain_sentence(finding.chain),
        finding.consequence,
        verdict_sentence(finding, profile),
        confirmation_sentence(finding),
        warmth_of(cause, finding.module),
        help_sentence(finding, finding.remedy if cause.accepted else cause.remedy),
    )
    return "\n".join(letters.clean(one_line(sentence)) for sentence in sentences if sentence.strip())


def data(text: str) -> str:
    """Text as it stands behind the colons of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return data(text).replace(":", "%3A").replace(",", "%2C")
