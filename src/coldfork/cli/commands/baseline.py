"""`coldfork baseline`: accept today's findings, so that only new ones fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from coldfork.checking import baseline_file
from coldfork.checking.settings import SETTINGS
from coldfork.cli import output
from coldfork.cli.conventions import debug_option
from coldfork.cli.options import options, paths_argument
from coldfork.model.errors import UsageError
from coldfork.report.shared.quantities import plural

_EPILOG = """\b
Examples:
  coldfork baseline write                              accept what `coldfork check` finds today
  coldfork baseline write src/                         accept what it finds there
  coldfork baseline write coldfork-baseline.json src/  the same, for these paths
  coldfork check --baseline coldfork-baseline.json     report only what is new
  coldfork baseline prune                              drop findings that no longer occur

With `baseline = "coldfork-baseline.json"` in [tool.coldfork], check needs no --baseline.
"""

_ANALYSIS = tuple(setting for setting in SETTINGS if not setting.output_only)

_file_argument = click.argument("file", default=baseline_file.DEFAULT_FILE, type=click.Path(path_type=Path))


@click.group(epilog=_EPILOG)
@debug_option
def baseline() -> None:
    """Accept today's findings, so that only new ones fail.

    A baseline is a JSON file to commit, with one accepted finding per line. Findings are identified by
    rule, module, chain and source text, so they are recognised after lines have moved. The file also lists
    warm modules, so that a module newly warmed by an accepted line is reported. FILE is
    coldfork-baseline.json by default.
    """


@baseline.command()
@_file_argument
@paths_argument
@options(_ANALYSIS)
@debug_option
@click.pass_context
def write(context: click.Context, /, file: Path, paths: tuple[Path, ...], **_: object) -> None:
    """Accept all current findings: FILE is written from scratch.

    FILE may be left out: a folder or a Python file in its place is a path to check.
    """
    from coldfork.cli.inspection import complain, inspect
    from coldfork.rules.causes.newcomers import warm_modules

    if _is_code(file):
        file, paths = Path(baseline_file.DEFAULT_FILE), (file, *paths)
    _refuse_foreign(file)
    inspection = inspect(context, paths)[0]
    complain(inspection)
    warm = warm_modules(inspection.observation, inspection.causes)
    made = baseline_file.accept(inspection.findings, inspection.request.main_profile, warm)
    output.save(baseline_file.dump(made), file)
    output.write(f"{file} accepts {plural(len(made.findings), 'finding')}.\n")
    output.write(f"Next: commit it, and run coldfork check --baseline {file}\n")


@baseline.command()
@_file_argument
@debug_option
def show(file: Path) -> None:
    """List what FILE accepts."""
    held = baseline_file.load(file)
    lines = [f"{entry.path}: [{entry.rule}] {entry.message}" for entry in held.findings.values()]
    lines.append(f"{file} accepts {plural(len(held.findings), 'finding')} under the profile {held.profile}.")
    output.write("\n".join(lines) + "\n")


@baseline.command()
@_file_argument
@paths_argument
@options(_ANALYSIS)
@debug_option
@click.pass_context
def prune(context: click.Context, /, file: Path, paths: tuple[Path, ...], **_: object) -> None:
    """Remove from FILE the findings that no longer occur; nothing is added.

    Check the same paths as when it was written: findings outside them count as gone.
    """
    from coldfork.cli.inspection import complain, inspect
    from coldfork.rules.causes.newcomers import still_warm

    held = baseline_file.load(file)
    inspection = inspect(context, paths)[0]
    complain(inspection)
    comparison = baseline_file.set_against(held, inspection.findings)
    if not inspection.missing:
        kept = {name: entry for name, entry in held.findings.items() if name not in comparison.gone}
        pruned = replace(held, findings=kept, warm=still_warm(held.warm, inspection.causes))
        if pruned != held:
            output.save(baseline_file.dump(pruned), file)
    else:
        raise UsageError(f"{file} was left unchanged: a path is missing, and its findings may still exist")
    gone, known, new = (len(part) for part in (comparison.gone, comparison.known, comparison.new))
    output.write(f"{plural(gone, 'finding')} gone, {known} still there, {new} new.\n")
    if new:
        output.write(f"Next: coldfork check --baseline {file} shows the new ones\n")


def _is_code(path: Path) -> bool:
    """Return whether a path is something to check, and so cannot be meant as the file to write."""
    return path.is_dir() or path.suffix in (".py", ".pyi", ".ipynb")


def _refuse_foreign(file: Path) -> None:
    """Refuse to overwrite a file that is not a baseline."""
    if file.exists() and file.stat().st_size:
        try:
            baseline_file.load(file)
        except UsageError as error:
            raise UsageError(f"{error}; the file was left unchanged") from None
