"""`coldfork check`: finds in source code how importing it affects accelerators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from coldfork.cli import output
from coldfork.cli.conventions import FINDINGS, debug_option
from coldfork.cli.failures import ERROR, INTERRUPTED
from coldfork.cli.options import CHECK_SETTINGS, WordedCommand, WordedFlag, options, paths_argument, typed
from coldfork.cli.rendering import deliver, is_for_people, note_delivery, rendering, rule_texts
from coldfork.model.errors import UsageError
from coldfork.report.findings.selection import Selection
from coldfork.report.formats import renderer
from coldfork.rules.registry import UNMENDED

if TYPE_CHECKING:
    from coldfork.checking.inspection import Inspection
    from coldfork.model.findings import Report
    from coldfork.report.shared.options import Options

_ONCE = frozenset({
    "fix", "fix_only", "diff", "prove", "format", "watch", "limit", "output", "confirm", "virtual", "timeout",
    "quiet", "statistics", "color",
})  # fmt: skip
"""The options that a suggested next command does not repeat."""
_FOR_AN_AGENT = 20
"""The most causes that are listed for an agent by default."""

_EPILOG = """\b
Examples:
  coldfork check                           src/ if there is one, else everything here
  coldfork check --python .venv/bin/python follow imports into that environment's packages
  coldfork check --format agent            a record a line, with the commands to run next
  coldfork check --format sarif --output coldfork.sarif
  coldfork check --baseline coldfork-baseline.json
  coldfork check --all-ways                every module that a line wakes, and how imports get there
  coldfork check --changed-since origin/main   only what this branch may have changed
  coldfork check - --stdin-filename src/engine/core.py < buffer
  coldfork check --watch                   again after every change
  coldfork check --fix                     apply the fixes that do not change what the code does
  coldfork check --diff | git apply        the same, as a patch
  coldfork check --fix --prove --format markdown   the same, and a table for the pull request
  coldfork check --trace src/engine/core.py:12   why a line is found, or is not
  coldfork check --confirm --virtual h100  import what was found, and see what happens
  coldfork check --confirm=run --virtual h100  also run the programs that findings are about, for real

\b
Exit status: 0 nothing fails the check, 1 a finding at or above --fail-on for an audience in --fail-for,
a patch that --diff printed, or a fix that --prove refutes, 2 the check itself failed, 130 interrupted.
Next: coldfork rule NAME explains a finding.
"""


@click.command(cls=WordedCommand, epilog=_EPILOG)
@paths_argument
@options(CHECK_SETTINGS)
@click.option(
    "--stdin-filename",
    metavar="FILE",
    help="With - as a path: the path of the file whose text comes from standard input.",
)
@click.option(
    "--fix",
    cls=WordedFlag,
    word="unsafe",
    is_flag=True,
    help="Write the fixes that do not change what the program does; --fix=unsafe also writes those that may.",
)
@click.option(
    "--diff", is_flag=True, help="Print what --fix would change as a patch for git apply, and write nothing."
)
@click.option(
    "--fix-only", metavar="RULE", multiple=True, help="With --fix or --diff: mend only what these rules find."
)
@click.option(
    "--prove",
    is_flag=True,
    help="With --fix or --diff: import copies of the modules before and after mending, and compare; also "
    "run test-command, if it is set.",
)
@click.option(
    "--trace",
    metavar="FILE:LINE",
    help="Instead of findings, print what the analysis knows at this line: values, conditions, where it "
    "stopped.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Check again whenever a file that affects the result changes, until Ctrl-C; the exit status is "
    "that of the last check.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print the findings alone: no progress, no summary.")
@debug_option
@click.pass_context
def check(context: click.Context, /, paths: tuple[Path, ...], **_: object) -> None:
    """Find the lines that wake an accelerator when a module is imported.

    PATHS are files, notebooks and folders; without any, `src` is checked if it exists, else the current
    folder. - stands for standard input.
    Nothing is imported unless --confirm or --prove asks for it, and no program is run except by
    --confirm=run, or by --prove if test-command is set.
    """
    from coldfork.cli.inspection import complain, inspect

    _refuse_idle_options(context)
    if context.params["trace"] is not None:
        _trace(context, paths)
        return
    if _is_to_mend(context):
        _mend(context, paths)
        return
    if context.params["watch"]:
        _watch(context, paths)
    inspection, settings = inspect(context, paths)
    report, interrupted = _report(inspection, settings)
    if interrupted:
        from coldfork.cli.confirming import undone

        click.echo(err=True)  # ends the line on which the terminal showed ^C
        output.note(f"interrupted: findings count as not testable where {undone(settings)}")
    _deliver(report, inspection, settings)
    complain(inspection)
    if interrupted:
        context.exit(INTERRUPTED)
    context.exit(_status(report, inspection, settings))


def _status(report: Report, inspection: Inspection, settings: dict[str, Any]) -> int:
    if inspection.missing:
        return ERROR
    fails = report.failing or (inspection.request.unknown_fails and _is_unknown(report))
    return FINDINGS if fails and not settings["exit-zero"] else 0


def _watch(context: click.Context, paths: tuple[Path, ...]) -> NoReturn:
    """Check until Ctrl-C."""
    from coldfork.checking.reporting import report_of
    from coldfork.cli.inspection import complain
    from coldfork.cli.watching import watch

    if Path("-") in paths:
        raise UsageError("--watch needs files or folders: standard input does not change")

    def judge(inspection: Inspection, settings: dict[str, Any]) -> tuple[int, Callable[[], None]]:
        if settings["confirm"]:
            raise UsageError(
                "--confirm takes too long to run after every change: leave out --watch or --confirm"
            )
        report = report_of(inspection)

        def show() -> None:
            _deliver(report, inspection, settings)
            complain(inspection)

        return _status(report, inspection, settings), show

    context.exit(watch(context, paths, judge))


def _is_to_mend(context: click.Context) -> bool:
    asked = context.params["fix"] or context.params["diff"]
    if asked and context.params["watch"]:
        raise UsageError("--watch only prints findings: leave out --fix and --diff")
    if context.params["fix_only"] and not asked:
        raise UsageError("--fix-only needs --fix or --diff")
    if context.params["prove"] and not asked:
        raise UsageError("--prove needs --fix or --diff")
    return bool(asked)


def _mend(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Mend the findings or print the patch, and with `--prove` test the mended files."""
    from coldfork.cli import mending
    from coldfork.cli.inspection import complain

    done, settings = mending.mended(context, paths)
    is_shown = context.params["diff"]
    files = mending.show(done) if is_shown else mending.apply(done)
    proof = mending.proven(done, files, settings) if context.params["prove"] else None
    report = replace(mending.reported(done), proof=proof)
    if is_shown:
        mending.tell(proof, settings, _options(done.inspection, settings))
    else:
        _deliver(report, done.inspection, settings)
        complain(done.inspection)
    if proof is not None and proof.interrupted:
        context.exit(INTERRUPTED)
    refuted = proof is not None and proof.refuted
    left = bool(files) if is_shown else _status(report, done.inspection, settings)
    context.exit(FINDINGS if refuted and left in (0, FINDINGS) else int(left))


def _refuse_idle_options(context: click.Context) -> None:
    """Refuse options about imports on the command line if nothing is imported; configurations may
    set them.
    """
    if context.params["confirm"] or context.params["prove"]:
        return
    for name in ("virtual", "timeout"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--{name} needs --confirm or --prove: nothing is imported without them")


def _trace(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Print the findings of the analysis for one line."""
    from coldfork.cli.inspection import trace
    from coldfork.report.findings import trace_text

    told, settings = trace(context, paths, context.params["trace"])
    if settings["format"] != "text":
        raise UsageError("--trace prints text only: leave out --format")
    deliver(trace_text.render(told, rendering(settings)), settings)


def _is_unknown(report: Report) -> bool:
    """Return whether some code was not analysed, so that the absence of findings proves nothing."""
    return bool(report.unfinished or report.skipped)


def _report(inspection: Inspection, settings: dict[str, Any]) -> tuple[Report, bool]:
    """Return the report, and whether the user has interrupted the confirmation."""
    from coldfork.checking.reporting import report_of

    report = report_of(inspection)
    if not settings["confirm"]:
        return report, False
    from coldfork.cli.confirming import confirmed

    confirmation = confirmed(report.findings, settings, inspection)
    return replace(report, findings=confirmation.findings), confirmation.interrupted


def _options(inspection: Inspection, settings: dict[str, Any]) -> Options:
    return replace(
        rendering(settings),
        fail_on=inspection.request.fail_on,
        fail_for=inspection.request.fail_for,
        tests=settings["tests"],
        all_ways=settings["all-ways"],
        quiet=click.get_current_context().params["quiet"],
        limit=_limit(settings),
        command=typed(click.get_current_context(), but=_ONCE),
        unmended=UNMENDED,
        locate=inspection.locate,
        cell=inspection.cell,
    )


def _limit(settings: dict[str, Any]) -> int | None:
    """Return how many causes to list; an agent, which reads all of them, gets fewer by default."""
    asked = settings["limit"]
    usual = _FOR_AN_AGENT if settings["format"] == "agent" else None
    return usual if asked is None else asked or None


def _deliver(report: Report, inspection: Inspection, settings: dict[str, Any]) -> None:
    form, file = settings["format"], settings["output"]
    # Only these formats contain the pages of rules, which take time to load.
    rules = rule_texts(inspection.request.rules) if form in ("sarif", "junit", "rdjson") else {}
    shown = replace(_options(inspection, settings), rules=rules)
    tables = ""
    if settings["statistics"]:
        from coldfork.report.findings import statistics

        tables = statistics.render(report, shown)
    deliver(renderer("finding", form)(report, shown), settings)
    if tables and (file or is_for_people(form)):
        output.write(tables if file else f"\n{tables}")
    elif tables:
        # Standard output must contain nothing but the document, because a program reads it.
        output.note(f"statistics\n{tables.rstrip()}")
    selection = Selection(report, shown)
    if form == "concise" and (left := selection.limit_line()):
        output.note(left)
    if form in ("concise", "github", "gitlab", "rdjson") and (folded := selection.fold_line()):
        output.note(folded)  # not on standard output, where every line is a cause in these formats
    note_delivery(len(report.causes), "cause", settings)
