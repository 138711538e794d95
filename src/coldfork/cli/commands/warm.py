"""`coldfork warm`: manages servers that keep modules imported and fork scripts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from coldfork.cli import output
from coldfork.cli.conventions import colour_option, debug_option, format_option, output_option
from coldfork.cli.rendering import deliver, rendering
from coldfork.report.formats import FORMATS, renderer
from coldfork.report.shared.quantities import duration, plural

if TYPE_CHECKING:
    from coldfork.model.running import WarmServer

_EPILOG = """\b
Examples:
  coldfork warm start torch transformers          import both once, and keep them ready
  coldfork exec --warm torch,transformers post.py run a script that finds them imported
  coldfork warm status                            what is ready, and what it costs
  coldfork warm stop                              end all servers; running scripts continue

\b
exec --warm also works without a server: it starts the script as usual, and a server for the next one.
A server is used only while a new process would import the same. If a file or a variable
that it read has changed, or the control group or namespace differs, the script starts cold and says why.
Exit status: 0 done, 2 it could not be done.
"""


@click.group(epilog=_EPILOG)
@debug_option
def warm() -> None:
    """Keep servers ready that have imported what scripts need.

    A server imports modules once, proves that it has woken no device and holds no thread, and is then
    forked for each script that is run with `coldfork exec --warm`. One keeper for each user holds the
    servers; nobody else can reach it.
    """


@warm.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option("--python", metavar="PATH", help="The interpreter of the scripts.")
@click.option(
    "--idle",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="End all servers after this many seconds without a request.  [default: 1800]",
)
@debug_option
def start(modules: tuple[str, ...], python: str | None, idle: float | None) -> None:
    """Have a server import MODULE..., in this order, and wait until it is ready."""
    from coldfork.launch.script import environment
    from coldfork.launch.script.plan import module_names
    from coldfork.launch.server.warm import control
    from coldfork.report.shared.terminals import is_terminal

    def tell(module: str) -> None:
        if is_terminal(sys.stderr):
            output.note(f"importing {module}")

    names = module_names(tuple(name for word in modules for name in word.split(",") if name))
    variables = environment.build("spawn").variables
    server = control.prepare(names, variables, python=python, idle=idle, on_import=tell)
    output.write(_ready(server))


def _ready(server: WarmServer) -> str:
    took = f" after {duration(server.ready_after_seconds)}" if server.ready_after_seconds else ""
    names = ",".join(server.modules)
    ready = f"{', '.join(server.modules)} ready{took}, pid {server.pid}"
    return f"{ready}\nNext: coldfork exec --warm {names} SCRIPT\n"


@warm.command()
@format_option(FORMATS["servers"])
@output_option
@colour_option
@debug_option
def status(form: str, target: str | None, colour: str) -> None:
    """Show which servers are ready, and what they cost."""
    from coldfork.launch.server.warm import control

    settings = {"format": form, "output": target, "color": colour}
    deliver(renderer("servers", form)(control.status(), rendering(settings)), settings)


@warm.command()
@debug_option
def stop() -> None:
    """End all servers and their keeper; running scripts continue."""
    from coldfork.launch.server.warm import control

    ended = control.stop()
    output.write("No warm server was running.\n" if ended is None else f"Ended {plural(ended, 'server')}.\n")
