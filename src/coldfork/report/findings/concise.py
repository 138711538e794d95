"""One line per finding, in the shape that editors and grep understand."""

from __future__ import annotations

from coldfork.model.findings import Confirmed, Finding, Report
from coldfork.report.shared.characters import Alphabet, alphabet, one_line
from coldfork.report.shared.options import Options


def render(report: Report, options: Options) -> str:
    """Write `path:line:column: severity[rule] message (verdict)` for each finding, columns counted from 1."""
    letters = alphabet(options.encoding)
    return "".join(_line(finding, options, letters) + "\n" for finding in report.findings)


def _line(finding: Finding, options: Options, letters: Alphabet) -> str:
    place = f"{letters.clean(options.locate(finding.path))}:{finding.line}:{finding.column + 1}"
    label = f"{finding.severity.value}[{letters.clean(finding.rule)}]"
    certainty = ", ".join(filter(None, (finding.verdict.value, _confirmed(finding))))
    return f"{place}: {label} {letters.clean(one_line(finding.message))} ({letters.clean(certainty)})"


def _confirmed(finding: Finding) -> str:
    """`woken`, `cold`, or `not-testable` and why."""
    if finding.confirmed != Confirmed.NOT_TESTABLE:
        return finding.confirmed or ""
    return (
        f"{finding.confirmed}: {one_line(finding.confirmation)}"
        if finding.confirmation
        else finding.confirmed
    )
