"""`coldfork probe`: imports modules in fresh interpreters, and names the line that woke a device."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from coldfork.checking import configuration
from coldfork.cli import options, output
from coldfork.cli.conventions import debug_option, refuse_name
from coldfork.cli.failures import INTERRUPTED
from coldfork.cli.options import PROBE_SETTINGS
from coldfork.cli.rendering import deliver, is_for_people, note_delivery, rendering, rule_texts
from coldfork.cli.surroundings import surroundings
from coldfork.model.errors import ConfigurationError, UsageError
from coldfork.model.probes import ProbeStatus, Probing
from coldfork.report.formats import renderer

UNJUDGED = 125
"""The status that tells `git bisect run` that a commit cannot be tested."""
STATUSES = {ProbeStatus.COLD: 0, ProbeStatus.WOKEN: 1, ProbeStatus.UNKNOWN: UNJUDGED}
RULES = ("device-init-at-import", "driver-init-at-import")

_EPILOG = """\b
Examples:
  coldfork probe engine.api                        does importing it wake a device, and which line?
  coldfork probe --virtual h100 engine.api         on a machine without a GPU
  coldfork probe --all engine --format json        every module of a package
  coldfork probe --python .venv/bin/python engine  with that environment's packages
  git bisect run coldfork probe --virtual h100 engine.api

\b
Exit status: 0 cold, 1 woken, 125 an import failed or could not be judged (git bisect skips the commit),
2 wrong usage, 130 interrupted: what was found by then is printed. With several modules, 1 takes
precedence over 125.
Next: coldfork rule device-init-at-import says what to write instead.
"""


@click.command(epilog=_EPILOG)
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option(
    "--all",
    "packages",
    metavar="PACKAGE",
    multiple=True,
    help="Import every module of this package, each on its own; repeatable. __main__ is left out.",
)
@click.option(
    "--in-forked-child",
    is_flag=True,
    help="Import in a forked child, like a worker that is forked before anything is imported.",
)
@options.options(PROBE_SETTINGS)
@debug_option
@click.pass_context
def probe(
    context: click.Context,
    /,
    modules: tuple[str, ...],
    packages: tuple[str, ...],
    *,
    in_forked_child: bool,
    **_: object,
) -> None:
    """Import modules in fresh interpreters, and name the line that woke a device.

    MODULE is a dotted name as in an import statement, found as `python -c 'import MODULE'` would find it from
    the current folder. Each is imported in its own interpreter, which is watched: what it initialises, by
    which line, through which imports. A module that wakes a device is imported a second time, to see the
    exact call.
    """
    try:
        settings = options.resolve(context, configuration.read(Path()))
    except ConfigurationError as error:
        # The configuration of an old commit may be invalid today; `git bisect` must not call the commit bad.
        output.note(str(error))
        context.exit(UNJUDGED)
    from coldfork.launch.plumbing.ask import command_signals

    with command_signals():
        probing = _probe(modules, packages, settings, forked=in_forked_child)
    if probing.interrupted:
        click.echo(err=True)  # ends the line on which the terminal showed ^C
    _deliver(probing, settings)
    context.exit(INTERRUPTED if probing.interrupted else STATUSES[probing.status])


def _probe(
    modules: tuple[str, ...], packages: tuple[str, ...], settings: dict[str, Any], *, forked: bool
) -> Probing:
    from coldfork.launch.plumbing.ask import require_watching
    from coldfork.launch.probe.probe import ProbeRequest, interpreter, modules_of, probe
    from coldfork.report.shared.progress import ProgressBar

    require_watching("probe")
    if not modules and not packages:
        raise UsageError("name a module, or a package with --all; coldfork probe --help shows how")
    for name in (*modules, *packages):
        refuse_name(name)
    setup = surroundings(settings, interpreter(settings["python"]), forked=forked)
    wanted = (*modules, *(module for package in packages for module in modules_of(package, setup)))
    with ProgressBar(sys.stderr, guesses=True) as bar:
        return probe(ProbeRequest(wanted, setup, settings["jobs"]), bar.update)


def _deliver(probing: Probing, settings: dict[str, Any]) -> None:
    form, here = settings["format"], Path.cwd()

    def locate(path: str) -> str:
        file = Path(probing.files.get(path, path))
        return file.relative_to(here).as_posix() if file.is_relative_to(here) else str(file)

    rules = rule_texts(RULES) if form == "sarif" else {}
    text = renderer("probe", form)(probing, replace(rendering(settings), rules=rules, locate=locate))
    if probing.interrupted and (settings["output"] or not is_for_people(form)):
        from coldfork.report.probes.words import interruption

        output.note(interruption(probing))
    deliver(text, settings)
    note_delivery(len(probing.modules), "module", settings)
