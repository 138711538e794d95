"""The causes as a table for a pull request, with the outcome of `--prove` for those that were mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.model.causes import Cause, Fix, Refusal
from coldfork.model.findings import Report
from coldfork.report.findings.closing import closing_sentences
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.words import (
    confirmation_sentence,
    edit_sentence,
    examined,
    fix_sentence,
    is_shown,
    verdict_counts,
)
from coldfork.report.proof import proof_markdown
from coldfork.report.shared.characters import one_line, printable
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import plural


def render(report: Report, options: Options) -> str:
    """Write the outcome of `--prove`, the table of causes, and the closing sentences."""
    selection = Selection(report, options)
    parts = [] if report.proof is None else [proof_markdown(report.proof, options).rstrip("\n")]
    parts.append(_title(report, selection))
    if causes := selection.listed():
        rows = ["| line | what is found | how sure |", "| --- | --- | --- |"]
        rows += [row for cause in causes for row in _rows(cause, report, selection, options)]
        parts.append("\n".join(rows))
        parts += [part for cause in causes for part in _shown(report.fixes.get(cause.id), options)]
    parts += [_plain(one) for one in closing_sentences(replace(report, proof=None))]
    parts += filter(None, (selection.limit_line(), selection.fold_line()))
    return "\n\n".join(parts) + "\n"


def _title(report: Report, selection: Selection) -> str:
    shown = selection.shown
    found = f"{plural(len(shown), 'cause')}: {verdict_counts(shown)}" if shown else "no finding"
    return f"### coldfork check\n\n{found}; {examined(report.statistics)}."


def _rows(cause: Cause, report: Report, selection: Selection, options: Options) -> list[str]:
    rows = []
    for finding in selection.entries(cause):
        said = [f"**{finding.rule}**: {finding.message}", confirmation_sentence(finding)]
        fix = report.fixes.get(finding.cause)
        said.append("" if fix is None else fix_sentence(fix))
        sure = finding.verdict.value + (f": only when `{finding.condition}`" if finding.condition else "")
        place = f"`{options.place(finding.path, finding.line)}`"
        cells = (place, "; ".join(filter(None, said)), sure)
        rows.append(f"| {' | '.join(map(_cell, cells))} |")
    return rows


def _shown(fix: Fix | Refusal | None, options: Options) -> Iterator[str]:
    """Yield a code block for each edit of a fix that people have to make by hand."""
    if not isinstance(fix, Fix) or not is_shown(fix):
        return
    for edit in fix.edits:
        yield _plain(edit_sentence(edit, options.place(edit.path, edit.line)))
        if edit.text:
            lines = (printable(line).rstrip() for line in edit.text.splitlines())
            yield "\n".join(("~~~python", *lines, "~~~"))


def _plain(text: str) -> str:
    return printable(one_line(text))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
