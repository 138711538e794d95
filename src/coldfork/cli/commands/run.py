"""`coldfork run`: runs a program as `python` does, and reports its effects on accelerators."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coldfork import __version__
from coldfork.cli import output
from coldfork.cli.conventions import FINDINGS, debug_option, refuse_file
from coldfork.model.errors import ColdforkError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldfork.launch.watch.run import WatchedRun, WatchPlan
    from coldfork.model.timelines import Recording
    from coldfork.report.recordings.summary.outcomes import Outcome

_EPILOG = """\b
Examples:
  coldfork run train.py --epochs 3            like python train.py --epochs 3, but watched
  coldfork run --follow -m engine.serve       also watch the processes that it starts
  coldfork run --virtual h100:2 train.py      on a machine without a GPU
  coldfork run -X dev -W error train.py       Python's own options have one dash
  coldfork run -- python3.12 train.py         with the Python that the command names
  coldfork run --exact engine.core train.py   which line of engine.core it was

\b
Options before the program are coldfork's own; everything after it belongs to the program.
Exit status: the program's own. With --strict, 1 instead of 0 if a forked process failed,
or is certain to fail, because a device was awake before the fork. 2 if the program could not be started.
Next: coldfork report FILE shows the recording.
"""

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


class _AsPython(click.Command):
    """A click command that parses its long options, but not Python's or the program's arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove coldfork's options from the arguments, and parse the others as Python would."""
        from coldfork.launch.watch.run import split

        taken, line = split(args, {name: needs for option in self.params for name, needs in _names(option)})
        rest = super().parse_args(ctx, [*taken, "--"])
        ctx.params["line"] = line
        return rest


def _names(option: click.Parameter) -> list[tuple[str, bool]]:
    needs = isinstance(option, click.Option) and not option.is_flag
    return [(name, needs) for name in (*option.opts, *option.secondary_opts)]


def _size(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    """Parse a number of bytes, such as 500k or 64M."""
    from coldfork.launch.watch.run import SMALLEST_LIMIT

    match = _SIZE.fullmatch(text)
    size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if size < SMALLEST_LIMIT:
        raise click.BadParameter(f"{text!r} is not a size of 16k or more, such as 500k or 64M")
    return size


@click.command(
    cls=_AsPython, epilog=_EPILOG, options_metavar="[OPTIONS] [-m MODULE | -c CODE | FILE | -] [ARGS]..."
)
@click.option(
    "--output",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Record to this file; by default to a new one in the user's state folder.",
)
@click.option(
    "--limit",
    metavar="SIZE",
    callback=_size,
    default="64M",
    help="The maximum size of the recording; what does not fit is counted.  [default: 64M]",
)
@click.option("--follow", is_flag=True, help="Watch the processes that the program starts, too.")
@click.option(
    "--virtual",
    metavar="NAME[:N]",
    envvar="COLDFORK_VIRTUAL",
    help="Give the program this many virtual devices, for example h100:2; implies --follow.",
)
@click.option(
    "--exact",
    metavar="MODULE",
    multiple=True,
    help="Find the exact line in this module, which runs more slowly then; repeatable. The program's own "
    "file is __main__.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if a device that was awake before a fork breaks the forked process.",
)
@click.option("--quiet", is_flag=True, help="Print nothing except what the program prints.")
@click.option("--python", metavar="PATH", help="The interpreter to run the program with.")
@debug_option
@click.pass_context
def run(
    context: click.Context,
    /,
    file: Path | None,
    limit: int,
    virtual: str | None,
    python: str | None,
    exact: tuple[str, ...],
    *,
    follow: bool,
    strict: bool,
    quiet: bool,
    line: Any,
) -> None:
    """Run a program as `python` does, and say what it did to accelerators.

    The program is `-m MODULE`, `-c CODE`, FILE or `-`, with its arguments. The recording says what woke a
    device, through which imports and in which process, and whether a process was forked afterwards; a
    summary is printed on standard error when the program has ended. Nothing is added to its standard
    output.
    """
    from coldfork.launch.plumbing.ask import require_watching

    require_watching("run")
    from coldfork.launch import state_folder
    from coldfork.launch.plumbing import terminal
    from coldfork.launch.plumbing.interpreter import find_interpreter
    from coldfork.launch.watch import run

    if virtual:
        from coldfork.virtual import parse

        parse(virtual)
    named, line = run.without_python(line)
    if named is not None and python is not None:
        raise UsageError(f"--python names one interpreter and the command another: {python}, {named}")
    if line.program[:1] == ("-m",):
        refuse_file(line.program[1])
    plan = run.WatchPlan(
        program=line,
        python=find_interpreter(named or python),
        recording=state_folder.chosen_place(file) if file else state_folder.new_place(),
        limit=limit,
        follow=follow,
        virtual=virtual or None,
        exact=exact,
    )
    done = run.run(plan)
    found = False
    try:
        found = _conclude(plan, done, quiet=quiet, strict=strict)
    except KeyboardInterrupt:
        # The program has already ended, so Ctrl-C merely means that the user wants no report.
        pass
    status = terminal.end_like(done.ending)
    context.exit(status or (FINDINGS if found and strict else 0))


def _conclude(plan: WatchPlan, done: WatchedRun, *, quiet: bool, strict: bool) -> bool:
    """Report what was recorded; return True if that is a reason for `--strict` to fail."""
    if quiet and not strict:
        return False
    unwritten = f"{plan.recording} could not be written: {done.obstacle}" if done.obstacle else ""
    if not done.watched:
        if not quiet:
            why = unwritten or "the program's Python did not load coldfork"
            output.note(f"nothing was recorded, because {why}")
        return True
    from coldfork.report.recordings.assembly.files import read
    from coldfork.report.recordings.summary.outcomes import Standing, outcome

    try:
        recording = read(plan.recording)
        summed_up = outcome(recording)
        if not quiet:
            _report(plan, summed_up, recording)
    except ColdforkError as error:
        output.note(unwritten or str(error))
        return True
    if unwritten and not quiet:
        output.note(f"the recording is incomplete: {unwritten}")
    return summed_up.standing is Standing.POISONED


def _report(plan: WatchPlan, summed_up: Outcome, recording: Recording) -> None:
    from coldfork.report.recordings.text import verdict
    from coldfork.report.shared import terminals
    from coldfork.report.shared.options import Options

    view = Options(
        version=__version__,
        width=terminals.columns(sys.stderr),
        colour=output.wants_colour("auto", stream=sys.stderr),
        links=output.link_form("auto", stream=sys.stderr),
        encoding=getattr(sys.stderr, "encoding", None) or "utf-8",
    )
    lines = [verdict(recording, view).rstrip("\n"), f"recorded in {plan.recording}"]
    lines += [
        f"{'or' if number else 'next'}: {command}"
        for number, command in enumerate(_next_commands(plan, summed_up, recording))
    ]
    output.note("\n".join(lines))


def _next_commands(plan: WatchPlan, summed_up: Outcome, recording: Recording) -> Iterator[str]:
    exact = _exact(summed_up)
    if exact:
        yield f"coldfork run --exact {exact} ... names the exact line of {exact}"
    unwatched = any(not process.watched for process in recording.processes)
    if unwatched and not plan.follow and not plan.virtual and not summed_up.poisoned:
        yield "coldfork run --follow ... also watches the processes that it starts"
    yield f"coldfork report {plan.recording}"


def _exact(summed_up: Outcome) -> str | None:
    """Return the module for `--exact` with which another run could find the waking line; None without one."""
    waker = summed_up.wake.waker if summed_up.wake else None
    return waker.module if waker is not None and waker.line is None else None
