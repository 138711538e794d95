"""`coldfork report`: shows a recording, or how two of them differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from coldfork import __version__
from coldfork.cli import output
from coldfork.cli.debug import debug_option
from coldfork.report.formats import FORMATS, format_of_file, renderer

if TYPE_CHECKING:
    from coldfork.report.recordings.view import Source, View

_EPILOG = """\b
Examples:
  coldfork report run.coldfork                       the verdict, the processes and the imports
  coldfork report run.coldfork --output run.html     the same as one page for a browser
  coldfork report run.coldfork --output run.trace.json   for Perfetto
  coldfork report before.coldfork after.coldfork     how two recordings differ

\b
Exit status: 0 it was shown, whatever it says; 2 it could not be shown.
A page needs no network and holds no source line unless --with-source is given.
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("other", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(FORMATS["recording"])),
    help="The output format; without it the ending of --output decides: .html, .json, .trace.json, "
    ".speedscope.json or .txt.  [default: text]",
)
@click.option(
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="Write the result to this file instead of standard output.",
)
@click.option(
    "--with-source",
    is_flag=True,
    help="Quote the source lines that the recording names, where the Python files on this machine have not "
    "changed since.",
)
@click.option(
    "--color",
    "colour",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Whether to colour text; `auto` colours terminals unless NO_COLOR is set.  [default: auto]",
)
@debug_option
def report(
    file: Path, other: Path | None, form: str | None, target: str | None, with_source: bool, colour: str
) -> None:
    """Show a recording, or how two of them differ.

    FILE is a recording. It may be cut off or damaged: it is read as far as possible, and the report says
    what is missing. With OTHER, a later recording, the report shows what differs: imports, wakes, forks,
    states and import times.
    """
    from coldfork.report.recordings.assembly.files import read

    chosen = form or format_of_file(target)
    show_two = renderer("difference", chosen) if other is not None else None
    recording = read(file)
    source = None
    if with_source:
        from coldfork.report.recordings.source_lines import reader

        source = reader(recording.started, recording.cwd)
    view = _view(chosen, target, colour, source)
    if show_two is not None and other is not None:
        text = show_two(recording, read(other), view)
    else:
        text = renderer("recording", chosen)(recording, view)
    if target:
        output.save(text, Path(target))
        output.note(f"wrote {target}")
    else:
        output.write(text, None if chosen == "text" else "utf-8")


def _view(form: str, target: str | None, colour: str, source: Source | None) -> View:
    from coldfork.report.recordings.view import View

    shown = form == "text" and not target
    return View(
        version=__version__,
        width=output.terminal_width() if shown else None,
        colour=shown and output.wants_colour(colour),
        encoding=output.encoding() if shown else "utf-8",
        **({} if source is None else {"source": source}),
    )
