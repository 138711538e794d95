"""JUnit XML, which continuous integration servers show as test results."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from coldfork.model.causes import Audience, Cause
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.report.findings.selection import Selection, place_of
from coldfork.report.findings.warmth_words import warmth_of
from coldfork.report.findings.words import confirmation_sentence, help_sentence, verdict_sentence
from coldfork.report.shared.characters import one_line, xml_safe
from coldfork.report.shared.options import Options


def render(report: Report, options: Options) -> str:
    """Write one suite: a test case for each cause, each rule without a cause, and each unread file.

    A cause that makes the check fail is a failure. All other causes, and unread files, count as skipped,
    because they do not show that the import is cold.
    """
    suites = ET.Element("testsuites", name="coldfork")
    machines = " and ".join(report.profiles)
    suite = ET.SubElement(suites, "testsuite", name=xml_safe(f"coldfork check on {machines}"))
    selection = Selection(report, options)
    for cause in selection.all():
        for finding in selection.entries(cause):
            _add_finding(suite, finding, cause, report, options)
    for rule in _quiet_rules(report, options):
        ET.SubElement(suite, "testcase", classname="coldfork", name=xml_safe(rule), time="0")
    for file in report.skipped:
        _add_skipped(suite, file, options)
    count(suites, suite, report.statistics.seconds)
    return document(suites)


def document(suites: ET.Element) -> str:
    """Return the suites as the text of an XML file."""
    ET.indent(suites)
    # ASCII with character references is read correctly, whatever the encoding of the stream.
    body = ET.tostring(suites, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _add_finding(suite: ET.Element, finding: Finding, cause: Cause, report: Report, options: Options) -> None:
    place = options.place(finding.path, finding.line)
    case = ET.SubElement(
        suite,
        "testcase",
        classname=xml_safe(finding.module),
        name=xml_safe(f"{finding.rule} at {place}"),
        file=xml_safe(options.locate(finding.path)),
        time="0",
    )
    message = xml_safe(one_line(finding.message))
    account = xml_safe(_account(finding, cause, report.profile_of(finding.accelerator), options))
    if options.fails(cause):
        failure = ET.SubElement(case, "failure", message=message, type=xml_safe(finding.rule))
        failure.text = account
    else:
        ET.SubElement(case, "skipped", message=f"{message} ({_why_not(finding, cause)})")
        ET.SubElement(case, "system-out").text = account


def _why_not(finding: Finding, cause: Cause) -> str:
    """Return why a cause does not make the check fail: its verdict and, if it does not concern users, its
    place.
    """
    outside = cause.audience not in (Audience.LIBRARY, Audience.SCRIPT)
    return f"{finding.verdict.value}, {place_of(cause.audience)}" if outside else finding.verdict.value


def _account(finding: Finding, cause: Cause, profile: str, options: Options) -> str:
    lines = [options.place(finding.path, finding.line)]
    for step in finding.chain.steps[1:]:
        place = "" if step.path is None or step.line is None else f" {options.place(step.path, step.line)}"
        lines.append(f"-> {step.symbol}{place}")
    sentences = (
        finding.consequence,
        verdict_sentence(finding, profile),
        confirmation_sentence(finding),
        warmth_of(cause, finding.module),
        help_sentence(finding, finding.remedy if cause.accepted else cause.remedy),
    )
    lines += [one_line(sentence) for sentence in sentences if sentence.strip()]
    return "\n".join(lines)


def _quiet_rules(report: Report, options: Options) -> list[str]:
    loud = {finding.rule for finding in report.findings}
    return [rule for rule in options.rules if rule not in loud]


def _add_skipped(suite: ET.Element, file: Skipped, options: Options) -> None:
    name = xml_safe(options.locate(file.path))
    case = ET.SubElement(suite, "testcase", classname="coldfork.files", name=name, time="0")
    ET.SubElement(case, "skipped", message=xml_safe(f"not analysed: {one_line(file.reason)}"))


def count(suites: ET.Element, suite: ET.Element, seconds: float) -> None:
    """Set the numbers of tests, failures, errors and skipped cases on the suites."""
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for element in (suites, suite):
        for key, number in counts.items():
            element.set(key, str(number))
        element.set("time", f"{seconds:.3f}")
