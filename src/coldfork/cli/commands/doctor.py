"""`coldfork doctor`: checks whether a machine and an environment are fit for accelerators."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coldfork.cli import output
from coldfork.cli.conventions import FINDINGS, colour_option, debug_option, format_option, output_option
from coldfork.cli.rendering import deliver, rendering
from coldfork.model.diagnosis import Health
from coldfork.report.formats import FORMATS, renderer

if TYPE_CHECKING:
    from coldfork.model.diagnosis import Checkup

_EPILOG = """\b
Examples:
  coldfork doctor                            all checks, in a second or two
  coldfork doctor nvml openmp                only these
  coldfork doctor --python .venv/bin/python  the packages of another environment
  coldfork doctor --touch                    wake each device, in a process that ends at once
  coldfork doctor packages                   read all installed packages, as coldfork check does
  coldfork doctor --format markdown          for a bug report, without names of you or the machine

\b
coldfork's own process initialises no device; without --touch, no process does. No code of the environment is
imported or run.
Exit status: 0 no check failed (warnings are possible), 1 a check failed, 2 the checks could not be run.
"""


@click.command(epilog=_EPILOG)
@click.argument("checks", nargs=-1, metavar="[CHECK]...")
@click.option("--list-checks", "listing", is_flag=True, help="List the checks, each with what it looks at.")
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The interpreter whose environment is examined.  [default: the active virtual environment, else one "
    "in .venv, else coldfork's own]",
)
@click.option("--touch", is_flag=True, help="Wake every visible device, in a process that ends at once.")
@click.option(
    "--packages",
    is_flag=True,
    help="Also find the installed packages that wake a device on import: reads them all, in minutes the "
    "first time and in seconds after that.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also show passed and skipped checks, a line each.")
@format_option(FORMATS["checkup"])
@output_option
@colour_option
@debug_option
@click.pass_context
def doctor(
    context: click.Context,
    checks: tuple[str, ...],
    listing: bool,
    python: Path | None,
    touch: bool,
    packages: bool,
    verbose: bool,
    form: str,
    target: str | None,
    colour: str,
) -> None:
    """Check whether this machine and environment are fit for devices.

    Looks at Python, the driver, installed packages, environment variables and limits for anything that
    makes accelerators fail in several processes. CHECK selects a check; without any, all are run.
    """
    if listing:
        output.write(_listing())
        return
    settings = {"format": form, "output": target, "color": colour}
    checkup = _examined(checks, python, touch, packages)
    if form == "markdown":
        from coldfork.diagnose.anonymous import anonymous

        checkup = anonymous(checkup)
    # Checks that the user named are shown even if they passed.
    options = replace(rendering(settings), everything=verbose or bool(checks))
    deliver(renderer("checkup", form)(checkup, options), settings)
    context.exit(FINDINGS if checkup.count(Health.FAIL) else 0)


def _listing() -> str:
    from coldfork.diagnose.doctor import registry

    lines = []
    width = max(map(len, registry.folders())) + 2
    for heading, names in registry.GROUPS.values():
        lines += [heading, *(f"  {name:{width}}{registry.title(name)}" for name in names)]
    return "\n".join(lines) + "\n"


def _examined(checks: tuple[str, ...], python: Path | None, touch: bool, packages: bool) -> Checkup:
    from coldfork.diagnose.doctor import registry
    from coldfork.diagnose.doctor.facts.interpreter import examined
    from coldfork.diagnose.doctor.facts.machine import facts
    from coldfork.report.shared.progress import ProgressBar

    with ProgressBar(sys.stderr) as bar:
        reading = packages or "packages" in checks
        seen = facts(examined(python), touch=touch, packages=reading, progress=bar.update)
        return replace(registry.examine(checks, seen), named=None if python is None else str(python))
