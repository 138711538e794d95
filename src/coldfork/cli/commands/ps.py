"""`coldfork ps`: shows running Python processes, and the state of accelerators in each, from outside."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from coldfork.cli import output
from coldfork.cli.conventions import FINDINGS, colour_option, debug_option, format_option, output_option
from coldfork.cli.rendering import deliver, rendering
from coldfork.model.errors import UsageError
from coldfork.report.formats import FORMATS, renderer
from coldfork.report.shared import terminals

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.model.running import Census

_HOME_AND_CLEAR = "\x1b[H\x1b[2J"

_EPILOG = """\b
Examples:
  coldfork ps                      every Python process of yours
  coldfork ps 4711                 one process and all that it started
  coldfork ps --watch              again every two seconds, until Ctrl-C
  coldfork ps --format json        for programs

\b
Exit status: 0 no accelerator is poisoned in any process, 1 one is, 2 the processes could not be examined.
Nothing is stopped, nothing runs inside the processes, and no debugger is needed. What cannot be seen from
outside is reported as unknown, with the reason. For a process that coldfork run records, the recording is
used as well, including the line that woke a device.
"""


@click.command(epilog=_EPILOG)
@click.argument("pids", nargs=-1, type=click.IntRange(min=1), metavar="[PID]...")
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C, or until the processes have ended.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=2.0,
    metavar="SECONDS",
    help="With --watch: how long to wait between two looks.  [default: 2]",
)
@format_option(FORMATS["census"])
@output_option
@colour_option
@debug_option
@click.pass_context
def ps(
    context: click.Context,
    pids: tuple[int, ...],
    watch: bool,
    interval: float,
    form: str,
    target: str | None,
    colour: str,
) -> None:
    """Show what is awake or poisoned in running Python processes.

    Without PID, all processes of this user are shown; with PID, that process and everything it started. For
    each process: how it was started, which accelerators are cold, awake or poisoned in it and on what
    evidence, and which libraries run threads in it.
    """
    settings = {"format": form, "output": target, "color": colour}
    look = _looking(pids)
    census = look()
    try:
        _show(census, settings, again=False)
        while watch and census.processes:
            time.sleep(interval)
            census = look()
            _show(census, settings, again=True)
    except KeyboardInterrupt:
        if not watch:
            raise
        click.echo(err=True)  # ends the line on which the terminal showed ^C
    except UsageError:
        output.note("the processes have ended")
    context.exit(FINDINGS if census.poisoned else 0)


def _looking(pids: tuple[int, ...]) -> Callable[[], Census]:
    """Return a function that takes one census; raise an error if this system does not allow that."""
    if not sys.platform.startswith("linux"):
        raise UsageError(f"coldfork ps needs Linux, because it reads /proc; this is {sys.platform}")
    import os

    from coldfork.launch.outside.census import census
    from coldfork.launch.outside.kernel import Kernel

    kernel = Kernel()
    return lambda: census(kernel, pids, leave_out=(os.getpid(),))


def _show(census: Census, settings: dict[str, Any], *, again: bool) -> None:
    text = renderer("census", settings["format"])(census, rendering(settings))
    if settings["format"] == "text" and not settings["output"] and again:
        text = (_HOME_AND_CLEAR if terminals.is_terminal(sys.stdout) else "\n") + text
    deliver(text, settings)
    if settings["output"]:
        output.note(f"wrote {settings['output']}")
