"""`coldfork check`: what importing the code does to accelerators, read from its source."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from coldfork.cli import output
from coldfork.cli.conventions import ERROR, FINDINGS, INTERRUPTED, debug_option
from coldfork.cli.options import options, paths_argument
from coldfork.cli.rendering import deliver, is_for_people, note_delivery, rendering, rule_texts
from coldfork.cli.settings import CHECK_SETTINGS
from coldfork.model.effects import Verdict
from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Report
from coldfork.report.formats import renderer

if TYPE_CHECKING:
    from coldfork.cli.inspection import Inspection, Locate
    from coldfork.launch.probe.confirmation import Confirmation

_EPILOG = """\b
Examples:
  coldfork check                           src/ if there is one, else everything here
  coldfork check --python .venv/bin/python follow imports into that environment's packages
  coldfork check --format sarif --output coldfork.sarif
  coldfork check --baseline coldfork-baseline.json
  coldfork check --confirm --virtual h100  import what was found, and see what happens

\b
Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 the check itself failed, 130 interrupted.
Next: coldfork rule NAME explains a finding.
"""


@click.command(epilog=_EPILOG)
@paths_argument
@options(CHECK_SETTINGS)
@debug_option
@click.pass_context
def check(context: click.Context, /, paths: tuple[Path, ...], **_: object) -> None:
    """Find the lines that wake an accelerator when a module is imported.

    PATHS are files and folders; without any, `src` is checked if it exists, else the current folder.
    Nothing is imported and nothing is run, unless --confirm asks for it.
    """
    from coldfork.cli.inspection import complain, inspect

    _refuse_idle_options(context)
    inspection = inspect(context, paths)
    report, interrupted = _report(inspection)
    if interrupted:
        click.echo(err=True)  # after the terminal's ^C
        output.note("interrupted: findings whose modules were not imported by then count as not testable")
    _deliver(report, inspection)
    complain(inspection)
    if interrupted:
        context.exit(INTERRUPTED)
    if inspection.missing:
        context.exit(ERROR)
    context.exit(FINDINGS if report.failing and not inspection.settings["exit-zero"] else 0)


def _refuse_idle_options(context: click.Context) -> None:
    """Refuse what was typed for imports where there are none; variables and files may hold it for others."""
    if context.params["confirm"]:
        return
    for name in ("virtual", "timeout"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name} is about imports, and nothing is imported without --confirm")


def _report(inspection: Inspection) -> tuple[Report, bool]:
    """What there is to say, and whether somebody interrupted the imports that --confirm asks for."""
    settings, interrupted = inspection.settings, False
    findings, known, gone = inspection.findings, 0, 0
    if settings["baseline"]:
        from coldfork.cli.baseline_file import load, set_against

        comparison = set_against(load(Path(settings["baseline"])), findings)
        findings, known, gone = comparison.new, len(comparison.known), len(comparison.gone)
    if settings["confirm"]:
        confirmation = _confirm(findings, settings, inspection.locate)
        findings, interrupted = confirmation.findings, confirmation.interrupted
    bar = Verdict(settings["fail-on"]).rank
    report = Report(
        profile=settings["profile"],
        findings=findings,
        skipped=inspection.skipped,
        statistics=inspection.observation.statistics,
        known=known,
        gone=gone,
        ignored=inspection.ignored,
        failing=sum(finding.verdict.rank >= bar for finding in findings),
    )
    return report, interrupted


def _deliver(report: Report, inspection: Inspection) -> None:
    settings = inspection.settings
    form, file = settings["format"], settings["output"]
    # The formats that show no rule's page get none, which saves importing them.
    rules = rule_texts(inspection.rules) if form in ("sarif", "junit") else {}
    fail_on = Verdict(settings["fail-on"])
    shown = replace(rendering(settings), rules=rules, locate=inspection.locate, fail_on=fail_on)
    tables = ""
    if settings["statistics"]:
        from coldfork.report.findings import statistics

        tables = statistics.render(report, shown)
    deliver(renderer("finding", form)(report, shown), settings)
    if tables and (file or is_for_people(form)):
        output.write(tables if file else f"\n{tables}")
    elif tables:
        # Standard output belongs to a program that reads one document.
        output.note(f"statistics\n{tables.rstrip()}")
    note_delivery(len(report.findings), "finding", settings)


def _confirm(findings: Sequence[Finding], settings: dict[str, Any], locate: Locate) -> Confirmation:
    """Import the modules of these findings, and say of each what that showed."""
    from coldfork.cli.surroundings import surroundings
    from coldfork.launch.probe.confirmation import confirm
    from coldfork.launch.probe.probe import interpreter
    from coldfork.launch.probe.termination import interrupted_by_sigterm
    from coldfork.launch.watched_process import require_watching
    from coldfork.report.shared.progress import ProgressBar
    from coldfork.source.files.site_packages import search_path

    require_watching("check --confirm")
    # The dependencies whose sources were read are those that the imports find.
    beside = [Path(folder) for folder in settings["site-packages"]]
    after = tuple(str(folder.absolute()) for folder in search_path(None, beside)) if beside else ()
    python = interpreter(_program(settings["python"]), neighbours=(Path(".venv"),))
    with interrupted_by_sigterm(), ProgressBar(sys.stderr) as bar:
        return confirm(
            findings,
            surroundings(settings, python, after=after),
            settings["profile"],
            locate,
            settings["jobs"],
            bar.update,
        )


def _program(python: str | None) -> str | None:
    """The interpreter of an environment that was named by its folder."""
    return str(Path(python, "bin", "python")) if python and Path(python).is_dir() else python
