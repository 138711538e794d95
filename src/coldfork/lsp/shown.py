"""Converts a check's result to objects of the protocol: diagnostics, hovers and lenses."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types
from pygls.workspace import PositionCodec

from coldfork.lsp.answer import Answer, Place
from coldfork.model.causes import Cause
from coldfork.model.findings import Finding, Severity
from coldfork.report.findings.words import chain_sentence, help_sentence, verdict_sentence
from coldfork.report.shared.quantities import plural

SOURCE = "coldfork"
SHOW_REFERENCES = "coldfork.showReferences"
"""An editor's command to show the references to a position, given by a document's URI and position."""
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


class Shown:
    """Converts an answer to protocol objects, with columns in the editor's units."""

    def __init__(self, answer: Answer, codec: PositionCodec) -> None:
        self._answer = answer
        self._codec = codec
        self._lines: dict[str, list[str]] = {}

    def diagnostics(self) -> dict[str, list[types.Diagnostic]]:
        """Return the diagnostics of each document that has any."""
        found: dict[str, list[types.Diagnostic]] = {}
        for finding, cause in self._answer.shown:
            place = self._answer.place(finding.path, finding.line, finding.column)
            if place is not None:
                found.setdefault(place.uri, []).append(self._diagnostic(finding, cause, place))
        return found

    def hover(self, uri: str, line: int) -> types.Hover | None:
        """Return the full text of the findings on a line."""
        told = [self._told(finding, cause) for finding, cause in self._answer.at(uri, line)]
        if not told:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(told)))

    def lenses(self, uri: str, command: str) -> Iterator[types.CodeLens]:
        """Yield a lens for each line that wakes modules: their number, and a command to show them."""
        for place, cause in self._answer.causes(uri):
            if cause.warms > 1:
                span = self.span(place)
                arguments = [uri, span.start] if command else None
                title = f"wakes {plural(cause.warms, 'module')}"
                yield types.CodeLens(span, types.Command(title, command, arguments=arguments))

    def references(self, uri: str, line: int, itself: bool) -> Iterator[types.Location]:
        """Yield the lines, mostly imports, through which other modules run this waking line."""
        own = Place(uri, line)
        lines: dict[Place | None, None] = {}
        for place, cause in self._answer.causes(uri):
            for way in cause.ways if place == own else ():
                if way.path is not None and way.line is not None:
                    lines[self._answer.place(way.path, way.line)] = None
        for found in lines:
            if found is not None and (itself or found != own):
                yield types.Location(found.uri, self.span(found))

    def span(self, place: Place, end: Place | None = None) -> types.Range:
        """Return the range from one place to another, or to the end of its line."""
        lines = self._lines_of(place.uri)
        text = lines[place.line].rstrip() if place.line < len(lines) else ""
        until = end or Place(place.uri, place.line, max(len(text), place.column))
        found = types.Range(
            types.Position(place.line, place.column), types.Position(until.line, until.column)
        )
        return self._codec.range_to_client_units(lines, found)

    def _lines_of(self, uri: str) -> list[str]:
        if uri not in self._lines:
            self._lines[uri] = self._answer.lines(uri)
        return self._lines[uri]

    def _diagnostic(self, finding: Finding, cause: Cause, place: Place) -> types.Diagnostic:
        profile = self._answer.report.profile_of(finding.accelerator)
        sure = verdict_sentence(finding, profile)
        return types.Diagnostic(
            range=self.span(place),
            message=f"{finding.message}\n{sure}" if sure else finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.rule,
            source=SOURCE,
            related_information=list(self._steps(finding)) or None,
            data={"cause": cause.id},
        )

    def _steps(self, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
        for step in finding.chain.steps[1:]:
            if step.path is None or step.line is None:
                continue
            place = self._answer.place(step.path, step.line)
            if place is not None:
                yield types.DiagnosticRelatedInformation(
                    types.Location(place.uri, self.span(place)), step.symbol
                )

    def _told(self, finding: Finding, cause: Cause) -> str:
        sentences = (
            f"**{finding.rule}**: {finding.message}",
            finding.consequence,
            f"`{chain}`" if (chain := chain_sentence(finding.chain)) else "",
            verdict_sentence(finding, self._answer.report.profile_of(finding.accelerator)),
            f"It wakes {plural(cause.warms, 'module')}." if cause.warms > 1 else "",
            help_sentence(finding, finding.remedy if cause.accepted else cause.remedy),
        )
        return "\n\n".join(sentence for sentence in sentences if sentence)
