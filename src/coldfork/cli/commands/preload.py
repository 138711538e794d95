"""`coldfork preload`: finds the modules that a server may import before it forks workers."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coldfork import __version__
from coldfork.checking import configuration
from coldfork.cli import options, output
from coldfork.cli.conventions import FINDINGS, debug_option, refuse_name
from coldfork.cli.options import PRELOAD_SETTINGS
from coldfork.cli.rendering import is_for_people, rendering
from coldfork.cli.surroundings import surroundings
from coldfork.model.errors import UsageError
from coldfork.report.formats import renderer
from coldfork.report.shared.quantities import plural

if TYPE_CHECKING:
    from coldfork.launch.preload.search import PreloadRequest
    from coldfork.model.preloads import Preloading

_WITHOUT_A_DEVICE = "h100"
"""The virtual device that imports use on a machine without a device."""

_EPILOG = """\b
Examples:
  coldfork preload engine.worker                         what a server may import for such a worker
  coldfork preload engine.worker --output preload.toml   also write the list for coldfork.zygote
  coldfork preload --check preload.toml                  in continuous integration: is it still clean?
  coldfork preload torch transformers --format json      for programs
  coldfork preload --python .venv/bin/python engine.worker

\b
Exit status: 0 the list was made, or is clean; 1 a checked list is no longer clean; 2 wrong usage, or an
import that would also fail in a worker; 130 interrupted.
Next: coldfork.zygote(preload="preload.toml") starts a server that has imported the list.
"""


@click.command(epilog=_EPILOG)
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option(
    "--check",
    "kept",
    metavar="FILE",
    type=click.Path(),
    help="Check the list in this file instead of making one; exit with 1 if a module of it is not clean.",
)
@click.option(
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="Write the list to this file, for coldfork.zygote(preload=FILE). The report is still printed.",
)
@options.options(PRELOAD_SETTINGS)
@debug_option
@click.pass_context
def preload(
    context: click.Context,
    /,
    modules: tuple[str, ...],
    kept: str | None,
    target: str | None,
    **_: object,
) -> None:
    """Find what a server may import before it forks workers, and why not the rest.

    MODULE is what a worker imports, a dotted name as in an import statement. All of these are imported in
    fresh processes, as a zygote would import them. A module is left out, with the line at fault, if it wakes
    a device; leaves a thread, a process, a connection or a held lock behind; reads a variable that differs
    between workers; or draws random numbers that are not drawn again. The clean modules that it imports are
    kept. Each kept module is tested in a forked child, in which the device must be usable.
    """
    settings = options.resolve(context, configuration.read(Path()))
    request = _request(modules, kept, target, settings)
    from coldfork.launch.plumbing.ask import command_signals

    with command_signals():
        result = replace(_search(request), listed=target)
    if target is not None:
        _save(result, Path(target))
    _print(result, settings)
    context.exit(0 if result.file is None or result.holds else FINDINGS)


def _request(
    modules: tuple[str, ...], kept: str | None, target: str | None, settings: dict[str, Any]
) -> PreloadRequest:
    from coldfork.launch.preload.search import PreloadRequest
    from coldfork.launch.probe.comparison import device_before
    from coldfork.launch.probe.probe import interpreter
    from coldfork.launch.server.preload_list import ENDING, read

    if kept is not None and (modules or target):
        raise UsageError("--check takes no modules and no --output: the list itself names its modules")
    if kept is None and not modules:
        raise UsageError("name the modules that a worker imports; coldfork preload --help shows how")
    if target is not None and not target.endswith(ENDING):
        raise UsageError(f"--output: choose a file name that ends with {ENDING}, as coldfork.zygote requires")
    for name in modules:
        refuse_name(name)
    listed = None if kept is None else read(kept)
    if device_before(settings["virtual"]) == "none":
        settings["virtual"] = _WITHOUT_A_DEVICE
    setup = surroundings(settings, interpreter(settings["python"]))
    if listed is None:
        return PreloadRequest(tuple(dict.fromkeys(modules)), setup)
    return PreloadRequest(listed.wanted, setup, listed.modules, kept)


def _search(request: PreloadRequest) -> Preloading:
    from coldfork.launch.preload.search import preload as search
    from coldfork.report.shared.progress import ProgressBar

    with ProgressBar(sys.stderr) as bar:
        return search(request, bar.update)


def _save(result: Preloading, file: Path) -> None:
    from coldfork.launch.server.preload_list import PreloadList, write
    from coldfork.launch.server.variables import stays_the_same
    from coldfork.report.preloads.text import foot, head

    listed = PreloadList(
        [one.module for one in result.kept],
        result.wanted,
        {use.name: use.module for use in result.reads if use.module and stays_the_same(use.name)},
        result.seeds,
    )
    output.save(write(listed, head(result, __version__), foot(result)), file)
    output.note(f"wrote {plural(len(result.kept), 'module')} to {file}")


def _print(result: Preloading, settings: dict[str, Any]) -> None:
    form, here = settings["format"], Path.cwd()

    def locate(path: str) -> str:
        file = Path(result.files.get(path, path))
        return file.relative_to(here).as_posix() if file.is_relative_to(here) else str(file)

    shown = replace(rendering({**settings, "output": None}), locate=locate)
    output.write(renderer("preload", form)(result, shown), None if is_for_people(form) else "utf-8")
