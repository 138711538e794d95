"""The annotations that a service shows beside the code, and the sentences in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coldfork.model.causes import Cause
from coldfork.model.findings import Finding, Report
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.warmth_words import warmth_of
from coldfork.report.findings.words import (
    chain_sentence,
    confirmation_sentence,
    help_sentence,
    verdict_sentence,
)
from coldfork.report.shared.characters import one_line
from coldfork.report.shared.options import Options


@dataclass(frozen=True, slots=True)
class Annotation:
    """A cause, at the place of its main finding, or a new way to a cause that the baseline accepts."""

    finding: Finding
    cause: Cause
    sentences: tuple[str, ...]
    """The message comes first; no sentence is empty."""
    line: int | None
    """None if the file has no such line, as in a notebook; the cell is given instead."""


def listed(report: Report, options: Options) -> Iterator[Annotation]:
    """Yield the annotations of a report, in the report's order."""
    selection = Selection(report, options)
    for cause in selection.in_order():
        for finding in selection.entries(cause):
            yield _annotation(finding, cause, report, options)


def _annotation(finding: Finding, cause: Cause, report: Report, options: Options) -> Annotation:
    cell, _ = options.cell(finding.path, finding.line)
    place = "" if cell is None else f"{options.place(finding.path, finding.line)}: "
    sentences = (
        f"{place}{finding.message}",
        chain_sentence(finding.chain),
        finding.consequence,
        verdict_sentence(finding, report.profile_of(finding.accelerator)),
        confirmation_sentence(finding),
        warmth_of(cause, finding.module),
        help_sentence(finding, finding.remedy if cause.accepted else cause.remedy),
    )
    said = tuple(one_line(sentence) for sentence in sentences if sentence.strip())
    return Annotation(finding, cause, said, finding.line if cell is None and finding.line >= 1 else None)
