"""One line for each cause and each new way to an accepted one, in the form that editors and grep
understand.
"""

from __future__ import annotations

from coldfork.model.causes import Cause
from coldfork.model.findings import Confirmed, Finding, Report
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.warmth_words import short_warmth
from coldfork.report.shared.characters import Alphabet, alphabet, one_line
from coldfork.report.shared.options import Options


def render(report: Report, options: Options) -> str:
    """Write `path:line:column: severity[rule] message (verdict)` for each cause, columns counted from 1."""
    letters = alphabet(options.encoding)
    selection = Selection(report, options)
    return "".join(
        _line(finding, cause, options, letters) + "\n"
        for cause in selection.listed()
        for finding in selection.entries(cause)
    )


def _line(finding: Finding, cause: Cause, options: Options, letters: Alphabet) -> str:
    place = f"{letters.clean(options.place(finding.path, finding.line))}:{finding.column + 1}"
    label = f"{finding.severity.value}[{letters.clean(finding.rule)}]"
    certainty = ", ".join(filter(None, (finding.verdict.value, _confirmed(finding), short_warmth(cause))))
    return f"{place}: {label} {letters.clean(one_line(finding.message))} ({letters.clean(certainty)})"


def _confirmed(finding: Finding) -> str:
    """Return the outcome of a real import: `woken`, `cold`, or `not-testable` with the reason."""
    if finding.confirmed != Confirmed.NOT_TESTABLE:
        return finding.confirmed or ""
    return (
        f"{finding.confirmed}: {one_line(finding.confirmation)}"
        if finding.confirmation
        else finding.confirmed
    )
