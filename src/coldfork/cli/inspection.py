"""Inspections for `check` and `baseline`, from the command line, with a progress bar."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coldfork.checking import configuration as configurations
from coldfork.checking import inspection as inspections
from coldfork.checking.request import CheckRequest, paths_or_default, request_of
from coldfork.cli import options, output
from coldfork.cli.conventions import refuse_file
from coldfork.model.errors import UsageError
from coldfork.report.shared.progress import ProgressBar

if TYPE_CHECKING:
    from coldfork.checking.inspection import Inspection
    from coldfork.model.terms.traces import Trace


def inspect(context: click.Context, paths: tuple[Path, ...]) -> tuple[Inspection, dict[str, Any]]:
    """Check the paths with the user's settings; return the inspection and those settings."""
    request, settings = asked(context, paths)
    told = False if context.params.get("quiet") else None
    with ProgressBar(sys.stderr, enabled=told) as bar, _kept_to_the_end():
        return inspections.inspect(request, bar.update), settings


def trace(context: click.Context, paths: tuple[Path, ...], place: str) -> tuple[Trace, dict[str, Any]]:
    """Check the paths; return the trace of the analysis at one line, and the settings."""
    from coldfork.checking import inspection

    request, settings = asked(context, paths)
    with ProgressBar(sys.stderr) as bar:
        return inspection.trace(request, place, bar.update), settings


def asked(context: click.Context, paths: tuple[Path, ...]) -> tuple[CheckRequest, dict[str, Any]]:
    """Return the request for a check, and the settings: flags, environment and configuration."""
    chosen, overlays = _with_standard_input(paths_or_default(paths), context.params.get("stdin_filename"))
    configuration = configurations.read(chosen[0])
    settings = options.resolve(context, configuration)
    for name in settings["entry"]:
        refuse_file(name)
    if overlays and settings["confirm"]:
        raise UsageError("--confirm cannot import standard input; give files")
    return request_of(settings, chosen, configuration, overlays), settings


def _with_standard_input(
    paths: tuple[Path, ...], name: str | None
) -> tuple[tuple[Path, ...], dict[str, bytes]]:
    """Return the paths, with the file's name in place of `-`, and the content of standard input."""
    if Path("-") not in paths:
        if name is not None:
            raise UsageError("--stdin-filename needs standard input; give - as a path")
        return paths, {}
    file = Path(name or "stdin.py")
    return tuple(file if path == Path("-") else path for path in paths), {
        str(file.absolute()): sys.stdin.buffer.read()
    }


@contextmanager
def _kept_to_the_end() -> Iterator[None]:
    """Exempt objects made in the block from garbage collection, because all live until the process ends."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def complain(inspection: Inspection) -> None:
    """Print on standard error which paths are missing, or that there was nothing to check."""
    for path in inspection.missing:
        output.note(f"{path}: no such file or folder; the other paths were checked")
    if not inspection.observation.statistics.modules and not inspection.skipped:
        output.note("there is no Python file in the paths given")
