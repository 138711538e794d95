"""Workflow commands that GitHub Actions turns into annotations on the changed lines."""

from __future__ import annotations

from coldfork.model.findings import Report, Severity
from coldfork.report.findings.hosts.annotations import Annotation, listed
from coldfork.report.shared.characters import Alphabet, alphabet
from coldfork.report.shared.options import Options

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, options: Options) -> str:
    """Write one workflow command for each cause and new way; GitHub's runner reads them from the log."""
    letters = alphabet(options.encoding)
    return "".join(_command(one, options, letters) + "\n" for one in listed(report, options))


def _command(annotation: Annotation, options: Options, letters: Alphabet) -> str:
    finding = annotation.finding
    properties = {"file": letters.clean(options.locate(finding.path))}
    if annotation.line is not None:
        properties["line"] = str(annotation.line)
        if finding.end_line is not None and finding.end_line >= finding.line:
            properties["endLine"] = str(finding.end_line)
        properties["col"] = str(finding.column + 1)
    properties["title"] = f"coldfork: {letters.clean(finding.rule)}"
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = data("\n".join(map(letters.clean, annotation.sentences)))
    return f"::{_COMMANDS[finding.severity]} {written}::{message}"


def data(text: str) -> str:
    """Escape a text for the part of a workflow command that follows the colons."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return data(text).replace(":", "%3A").replace(",", "%2C")
