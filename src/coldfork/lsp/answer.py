"""The result of checking a folder, looked up by document and line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pygls import uris

from coldfork.checking.inspection import Inspection
from coldfork.checking.reporting import report_of
from coldfork.lsp.buffers import Buffer
from coldfork.model.causes import Cause
from coldfork.model.findings import Finding, Report
from coldfork.report.findings.selection import Selection
from coldfork.report.shared.options import Options
from coldfork.source.files.reading import CannotRead


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document; line and column count from 0."""

    uri: str
    """The URI of a file, or of a cell in an open notebook."""
    line: int
    column: int = 0


@dataclass(frozen=True)
class Answer:
    """The result of checking a folder, and the buffers that were checked."""

    folder: Path
    buffers: Mapping[str, Buffer]
    """By absolute path."""
    inspection: Inspection

    @cached_property
    def report(self) -> Report:
        """The report of the inspection, without findings that the folder's baseline accepts."""
        return report_of(self.inspection)

    @cached_property
    def options(self) -> Options:
        """Report options that show every finding, even those in tests."""
        return Options(locate=self.inspection.locate, cell=self.inspection.cell, tests=True)

    @cached_property
    def shown(self) -> tuple[tuple[Finding, Cause], ...]:
        """The findings that an editor marks, each with its cause."""
        selection = Selection(self.report, self.options)
        return tuple(
            (finding, cause)
            for cause in selection.in_order()
            for finding in (
                *selection.entries(cause),
                *(selection.others(cause) if not cause.accepted else ()),
            )
            if finding.line >= 1 and self.place(finding.path, finding.line) is not None
        )

    def place(self, path: str, line: int, column: int = 0) -> Place | None:
        """Return the editor's place for a line of the report; None if its notebook is not open."""
        file = self.file(path)
        buffer = self.buffers.get(file)
        cell, inside = self.inspection.cell(path, line)
        if cell is None:
            return Place(Path(file).as_uri() if buffer is None else buffer.uri, line - 1, column)
        cells = list(() if buffer is None else buffer.cells)
        return Place(cells[cell - 1], inside - 1, column) if 0 < cell <= len(cells) else None

    def file(self, path: str) -> str:
        """Return the absolute path of a file in the report."""
        return self.inspection.file(path)

    def at(self, uri: str, line: int) -> Iterator[tuple[Finding, Cause]]:
        """Yield the findings on a line of a document, counted from 0."""
        for finding, cause in self.shown:
            place = self.place(finding.path, finding.line)
            if place is not None and (place.uri, place.line) == (uri, line):
                yield finding, cause

    def causes(self, uri: str) -> Iterator[tuple[Place, Cause]]:
        """Yield the causes in a document, with their lines."""
        for cause in self.report.causes:
            place = self.place(cause.path, cause.line) if cause.line >= 1 else None
            if place is not None and place.uri == uri:
                yield place, cause

    def lines(self, uri: str) -> list[str]:
        """Return the lines of a document in the version that was checked, with their line ends."""
        for buffer in self.buffers.values():
            if uri in buffer.cells:
                return buffer.cells[uri].splitlines(keepends=True)
        try:
            text = self.inspection.reader.read_source(uris.to_fs_path(uri) or "").decode("utf-8", "replace")
        except CannotRead:
            return []
        return text.splitlines(keepends=True)

    def version(self, uri: str) -> int | None:
        """Return the version of an open document; None for cells, whose versions are unknown."""
        return next((one.version for one in self.buffers.values() if one.uri == uri), None)
