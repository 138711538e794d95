"""`coldfork exec`: runs a Python script isolated from whatever started it, in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coldfork.cli import isolation
from coldfork.cli.conventions import debug_option

_EPILOG = """\b
Examples:
  coldfork exec -- post.py --epochs 3           like python post.py --epochs 3, but isolated
  coldfork exec --devices 1 -- -m engine.post   on the second device visible here
  coldfork exec --timeout 600 -- post.py        ended after ten minutes, with everything it started
  coldfork exec --max-memory 2GiB -- post.py    killed, with all it started, if they hold more in all
  coldfork exec --env OMP_NUM_THREADS=1 -- post.py

\b
Everything from the script on belongs to the script. Its standard streams are those of this command; Ctrl-C,
Ctrl-Z and other signals reach it as if it had been started directly. Processes that it leaves running are
ended.
Exit status: the script's own, 124 if it took too long, 137 if it held too much memory, 2 if it could not be
started.
Next: report.json in the run directory says what it did to accelerators.
"""


def _variables(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str | None]:
    """Parse the environment variables to set or remove."""
    try:
        return dict(map(isolation.variable, given))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _modules(_context: click.Context, _parameter: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Return the names of modules, which commas separate."""
    return () if given is None else isolation.modules(given)


def _number_of_runs(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> int | str | None:
    """Parse a number of runs, or `all`."""
    try:
        return None if given is None else isolation.number_of_runs(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(
    "exec",
    epilog=_EPILOG,
    options_metavar="[OPTIONS] [--]",
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
)
@click.option(
    "--devices",
    metavar="LIST",
    help="The devices that the script may use: indices among those visible here, such as 0,2, or "
    "identifiers; `none` for none.  [default: all visible devices]",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="End the script after this many seconds, with everything it started.",
)
@click.option(
    "--max-memory",
    metavar="SIZE",
    help="Kill the script when all its processes together hold more memory than this, such as 2GiB or 512M.",
)
@click.option(
    "--max-cpu",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="End the script when all its processes together have used this many seconds of processor time.",
)
@click.option(
    "--max-device-memory",
    metavar="SIZE",
    help="Limit each process to this much memory of each device, by MPS or by frameworks that support it.",
)
@click.option(
    "--grace",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=5.0,
    help="How many seconds to wait between asking the script to end and killing it.  [default: 5]",
)
@click.option(
    "--start-method",
    metavar="METHOD",
    default="spawn",
    help="The default start method in the script: spawn, forkserver or fork.  [default: spawn]",
)
@click.option(
    "--env",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_variables,
    help="Set a variable in the script's environment; NAME alone removes it. Repeatable.",
)
@click.option(
    "--inherit-env/--no-inherit-env",
    default=True,
    help="Whether the script gets this environment, or only the variables that programs need to start.  "
    "[default: inherit]",
)
@click.option(
    "--log-dir",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the run directory; by default the user's state folder.",
)
@click.option(
    "--report/--no-report",
    default=True,
    help="Whether to keep the report; without it, only temporary files are written.  [default: keep]",
)
@click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Run the script again if it fails, at most this many times.  [default: 0]",
)
@click.option(
    "--keep-runs",
    metavar="N|all",
    callback=_number_of_runs,
    help="How many run directories to keep; the oldest are deleted.  [default: 50 in the state "
    "folder, 1000 in a folder of --log-dir]",
)
@click.option("--python", metavar="PATH", help="The interpreter to run the script with.")
@click.option(
    "--warm",
    metavar="MODULES",
    callback=_modules,
    help="Fork the script from a server that has already imported these modules, such as "
    "torch,transformers; see coldfork warm.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing except what the script prints.")
@click.argument("script", metavar="SCRIPT|-m MODULE", type=click.UNPROCESSED)
@click.argument("args", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@debug_option
@click.pass_context
def exec_(
    context: click.Context,
    /,
    script: str,
    args: tuple[str, ...],
    **options: Any,
) -> None:
    """Run a Python script isolated from whatever started it.

    It runs in a new interpreter with `spawn` as its default start method, with an environment in which
    engines start their workers safely, and in a process tree that is ended with it. A run directory keeps
    what it did to accelerators and how it ended.
    """
    context.exit(isolation.run(script=script, args=args, **options))
