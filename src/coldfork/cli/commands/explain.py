"""`coldfork explain`: finds the failure in a log, the guilty line, and the remedy."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from coldfork.cli import output
from coldfork.cli.conventions import FINDINGS, colour_option, debug_option, format_option, output_option
from coldfork.cli.rendering import deliver, rendering
from coldfork.model.diagnosis import Confidence
from coldfork.model.errors import UsageError
from coldfork.report.formats import FORMATS, renderer

if TYPE_CHECKING:
    from coldfork.diagnose.commands import Ran
    from coldfork.diagnose.logs.records import Log
    from coldfork.diagnose.sources import Sources
    from coldfork.model.diagnosis import Explanation

_EPILOG = """\b
Examples:
  coldfork explain train.log                    a traceback, a worker's log, a dump of py-spy
  kubectl logs POD | coldfork explain           what is piped in
  coldfork explain --source src/ worker.log     also search the sources for what woke the device
  coldfork explain -- python train.py           run it, and explain what it printed if it fails
  coldfork explain --timeout 60 -- python t.py  the same if it hangs, with where each process was
  coldfork explain --format markdown train.log  for a bug report

\b
A log may hold several processes, prefixes, colours, wrapped lines and incomplete tracebacks. The line that
woke the device in the parent is usually not in the log: a recording names it (coldfork run --follow PROGRAM),
or --source and --python let coldfork check look for it.
Exit status: 0 at least one story was recognised, 1 none was, 2 the log could not be read. With a command,
the command's own.
Next: coldfork run --follow PROGRAM records what a log does not show.
"""


class _WithCommand(click.Command):
    """A click command that treats the arguments after `--` as a command to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the command from the arguments before the options are parsed."""
        index = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:index])
        command = tuple(args[index + 1 :])
        if index < len(args) and not command:
            raise UsageError("no command follows --; write coldfork explain -- python train.py")
        if command and ctx.params["files"]:
            raise UsageError("give FILE or a command after --, not both")
        ctx.params["command"] = command
        return rest


@click.command(cls=_WithCommand, epilog=_EPILOG, options_metavar="[OPTIONS]")
@click.argument("files", nargs=-1, metavar="[FILE]... | -- COMMAND", type=click.Path(path_type=Path))
@click.option(
    "--source",
    "sources",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Look in these sources for the line that woke the device; repeatable. By default, the program's "
    "own files that the log names are read, if this machine has them.",
)
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Read the installed packages that the log names from this interpreter's environment.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="End the command after this many seconds, and show where each of its processes was.",
)
@format_option(FORMATS["explanation"])
@output_option
@colour_option
@debug_option
@click.pass_context
def explain(
    context: click.Context,
    /,
    files: tuple[Path, ...],
    sources: tuple[Path, ...],
    python: Path | None,
    timeout: float | None,
    form: str,
    target: str | None,
    colour: str,
    command: tuple[str, ...],
) -> None:
    """Explain a log: the failure, the guilty line, and what to do.

    FILE is a log, a traceback or a dump of stacks; several are read together. Without FILE, standard input is
    read. A command after `--` is run, and its output is explained if it fails.
    """
    from coldfork.diagnose.sources import Sources

    settings = {"format": form, "output": target, "color": colour}
    where = Sources(sources, python)
    if command:
        context.exit(_run_and_explain(command, where, timeout, settings))
    if timeout is not None:
        raise UsageError("--timeout needs a command: coldfork explain --timeout 60 -- python train.py")
    from coldfork.diagnose.explaining import explain as explained

    logs = tuple(_logs(files))
    said = explained(logs, where.search(), installed=where.installed)
    deliver(_rendered(said, settings), settings)
    context.exit(0 if said.stories else FINDINGS)


def _logs(files: Sequence[Path]) -> Iterator[Log]:
    from coldfork.diagnose.explaining import read_log

    if not files:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("name a log, or pipe one in: coldfork explain train.log")
        yield read_log(sys.stdin.buffer, None)
        return
    for file in files:
        if str(file) == "-":
            yield read_log(sys.stdin.buffer, None)
            continue
        if file.is_dir():
            raise UsageError(f"{file} is a folder; name the logs in it: coldfork explain {file}/*.log")
        try:
            with file.open("rb") as stream:
                yield read_log(stream, str(file))
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error.strerror}") from None


def _run_and_explain(
    command: Sequence[str], where: Sources, timeout: float | None, settings: dict[str, Any]
) -> int:
    """Run the command, and explain its output if it failed."""
    from coldfork.diagnose.commands import run

    def respawning(log: BinaryIO) -> None:
        output.note(
            "the program keeps starting processes that fail in the same way; this explains its output so far"
        )
        _say(_of_command(log, None, where), settings)

    with tempfile.TemporaryFile() as log:
        ran = run(command, log, timeout, respawning)
        log.seek(0)
        said = _of_command(log, ran.recording, where, ran)
    if ran.status == 0 and not _has_failed(said):
        return 0
    _say(said, settings)
    if ran.recording is not None and ran.recording.is_file():
        output.note(f"recorded in {ran.recording}; coldfork report {ran.recording} shows it")
    return ran.status


def _has_failed(said: Explanation) -> bool:
    """Return whether some process, such as a worker, failed although the command itself succeeded."""
    from coldfork.knowledge.troubles import named

    return any(
        story.confidence is Confidence.CERTAIN and not named(story.name).is_warning for story in said.stories
    )


def _of_command(
    log: BinaryIO | Any, recording: Path | None, where: Sources, ran: Ran | None = None
) -> Explanation:
    from coldfork.diagnose.explaining import explain as explained
    from coldfork.diagnose.explaining import read_log
    from coldfork.diagnose.recordings import Recorded, recorded

    seen = recorded(recording) if recording is not None else Recorded()
    log_read = read_log(log, None)
    said = explained([log_read], where.search(), seen.wakings, seen.fork, where.installed)
    if ran is None or ran.why is None:
        return said
    from coldfork.diagnose.explaining import standing

    return replace(said, notes=(*said.notes, f"the command was ended: {ran.why}", *standing(log_read)))


def _rendered(said: Explanation, settings: dict[str, Any]) -> str:
    """Return the explanation in the chosen format; for a bug report, without names of users or machines."""
    if settings["format"] == "markdown":
        from coldfork.diagnose.anonymous import anonymous

        said = anonymous(said)
    return renderer("explanation", settings["format"])(said, rendering(settings))


def _say(said: Explanation, settings: dict[str, Any]) -> None:
    """Write a text to the output file or to standard error; standard output belongs to the command."""
    text = _rendered(said, settings)
    if settings["output"]:
        output.save(text, Path(settings["output"]))
    else:
        output.note(f"what it printed, explained\n{text.rstrip()}")
