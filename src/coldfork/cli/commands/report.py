"""`coldfork report`: shows a recording, or the differences between two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from coldfork.cli import output
from coldfork.cli.conventions import colour_option, debug_option, output_option
from coldfork.cli.rendering import deliver, rendering
from coldfork.report.formats import FORMATS, format_of_file, renderer

_EPILOG = """\b
Examples:
  coldfork report run.coldfork                       the verdict, the processes and the imports
  coldfork report run.coldfork --output run.html     the same as one page for a browser
  coldfork report run.coldfork --output run.trace.json   for Perfetto
  coldfork report before.coldfork after.coldfork     how two recordings differ

\b
Exit status: 0 the recording was shown, whatever it says; 2 it could not be shown.
A page needs no network and holds no source line unless --with-source is given.
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("other", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "--output-format",
    "form",
    type=click.Choice(tuple(FORMATS["recording"])),
    help="The output format; without it the ending of --output decides: .html, .json, .trace.json, "
    ".speedscope.json or .txt.  [default: text]",
)
@output_option
@click.option(
    "--with-source",
    is_flag=True,
    help="Quote the source lines that the recording names, if their files on this machine have not "
    "changed since.",
)
@colour_option
@debug_option
def report(
    file: Path, other: Path | None, form: str | None, target: str | None, with_source: bool, colour: str
) -> None:
    """Show a recording, or how two of them differ.

    FILE is a recording. It may be cut off or damaged: it is read as far as possible, and the report says
    what is missing. With OTHER, a later recording, the report shows what differs: imports, wakes, forks,
    states and import times.
    """
    from coldfork.report.shared.garbage import uncollected

    with uncollected():
        _show(file, other, form, target, with_source=with_source, colour=colour)


def _show(
    file: Path, other: Path | None, form: str | None, target: str | None, *, with_source: bool, colour: str
) -> None:
    from coldfork.report.recordings.assembly.files import read

    chosen = form or format_of_file(target)
    show_two = renderer("difference", chosen) if other is not None else None
    recording = read(file)
    settings = {"format": chosen, "output": target, "color": colour}
    shown = rendering(settings)
    if with_source:
        from coldfork.report.recordings.familiar_paths import reader

        shown = replace(shown, source=reader(recording.started, recording.cwd))
    if show_two is not None and other is not None:
        text = show_two(recording, read(other), shown)
    else:
        text = renderer("recording", chosen)(recording, shown)
    # The report contains commands, paths and sources of a machine, so only the file's owner may read it.
    deliver(text, settings, private=True)
    if target:
        output.note(f"wrote {target}")
