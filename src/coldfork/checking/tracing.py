"""From `FILE:LINE` to what was believed there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from coldfork.checking.environment import environment_of
from coldfork.checking.questions import known_to, question_of
from coldfork.checking.request import CheckRequest
from coldfork.checking.selection import Selection
from coldfork.model.errors import UsageError
from coldfork.model.faults import Faults
from coldfork.model.observations import Progress, Trace
from coldfork.source import tracing
from coldfork.source.files.reading import Reader

_PLACE = re.compile(r"(?P<file>.+?)(?::cell (?P<cell>\d+))?:(?P<line>\d+)", re.ASCII)


def trace(request: CheckRequest, place: str, progress: Progress | None = None) -> Trace:
    """Follow the modules of a check, and tell what is believed at a line of a file."""
    file, line = _place(place, Reader(request.overlays))
    search, _ = environment_of(request, request.paths)
    known = known_to(request, request.paths, search, Faults())
    is_excluded = Selection(request.configuration).is_excluded
    question = question_of(request, request.paths, search, known, is_excluded)
    return tracing.trace(question, file, line, progress)


def _place(place: str, reader: Reader) -> tuple[Path, int]:
    """The file and the line in it; of a notebook, in its cells one after the other, as they are read."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise UsageError(f"--trace {place}: write FILE:LINE, such as src/engine/core.py:12")
    file, line = Path(match["file"]), int(match["line"])
    path = os.path.normpath(file.absolute())
    if not reader.is_file(path):
        raise UsageError(f"--trace {place}: there is no file {file}")
    if match["cell"] is None:
        return file, line
    count = reader.read_source(path).count(b"\n") + 1
    wanted = int(match["cell"]), line
    for number in range(1, count + 1):
        if reader.cell(path, number) == wanted:
            return file, number
    raise UsageError(f"--trace {place}: there is no such line in that cell")
