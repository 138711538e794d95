"""What a check of a folder has found, by file and line as an editor asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from coldfork.checking.inspection import Inspection
from coldfork.checking.reporting import report_of
from coldfork.model.causes import Cause
from coldfork.model.findings import Finding, Report
from coldfork.report.findings.selection import Selection
from coldfork.report.shared.options import Options
from coldfork.source.files.reading import CannotRead


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file: counted from 0, and so is the column."""

    file: str
    """Its absolute path."""
    line: int
    column: int = 0


@dataclass(frozen=True)
class Answer:
    """The findings of a folder, and of which versions of the buffers they are."""

    folder: Path
    versions: Mapping[str, int]
    inspection: Inspection

    @cached_property
    def report(self) -> Report:
        """What is left of the inspection under the baseline of the folder."""
        return report_of(self.inspection)

    @cached_property
    def options(self) -> Options:
        """What is shown: everything that is, whoever it concerns."""
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
            if finding.line >= 1 and self.options.cell(finding.path, finding.line)[0] is None
        )

    def place(self, path: str, line: int, column: int = 0) -> Place:
        """A line of the report, as a file and a line of it from 0."""
        file = self._files.get(path) or os.path.normpath(Path(self.inspection.locate(path)).absolute())
        return Place(file, line - 1, column)

    @cached_property
    def _files(self) -> dict[str, str]:
        """The absolute path of each checked file by the path that the report has for it."""
        return {module.path: module.file for module in self.inspection.observation.modules if module.file}

    def at(self, file: str, first: int, last: int) -> Iterator[tuple[Finding, Cause]]:
        """What is marked on these lines of a file, counted from 0."""
        for finding, cause in self.shown:
            place = self.place(finding.path, finding.line)
            if place.file == file and first <= place.line <= last:
                yield finding, cause

    def lines(self, file: str) -> list[str]:
        """The lines of a file as they were checked, each with its end."""
        try:
            text = self.inspection.reader.read_source(file).decode("utf-8", "replace")
        except CannotRead:
            return []
        return text.splitlines(keepends=True)
