"""`coldfork check --confirm`: imports the modules of findings, and runs programs if requested."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coldfork.cli import output
from coldfork.model.findings import Finding
from coldfork.report.shared.quantities import approximately

if TYPE_CHECKING:
    from coldfork.checking.inspection import Inspection
    from coldfork.launch.probe.confirmation import Confirmation, ConfirmationPlan
    from coldfork.launch.probe.programs import RunPlan
    from coldfork.launch.probe.trial import ProbeSetup

RUN = "run"
"""The value of `--confirm=` with which programs are run, too."""


def confirmed(findings: Sequence[Finding], settings: dict[str, Any], inspection: Inspection) -> Confirmation:
    """Import the modules of these findings, run their programs if requested, and return the outcome."""
    from coldfork.cli.surroundings import import_setup
    from coldfork.launch.plumbing.ask import command_signals, require_watching
    from coldfork.launch.probe.confirmation import untested
    from coldfork.launch.probe.programs import unrun

    require_watching("check --confirm")
    confirmation = None
    with command_signals():
        try:
            setup = import_setup(settings)
            confirmation = _imported(findings, setup, settings, inspection)
            if settings["confirm"] == RUN and not confirmation.interrupted:
                return _ran(confirmation.findings, setup, inspection)
        except KeyboardInterrupt:
            confirmation = confirmation or untested(findings)
    if settings["confirm"] == RUN:
        return unrun(confirmation.findings)
    return confirmation


def _imported(
    findings: Sequence[Finding], setup: ProbeSetup, settings: dict[str, Any], inspection: Inspection
) -> Confirmation:
    from coldfork.launch.probe.confirmation import confirm
    from coldfork.report.shared.progress import ProgressBar

    with ProgressBar(sys.stderr, guesses=True) as bar:
        return confirm(
            findings,
            setup,
            inspection.request.main_profile,
            inspection.locate,
            settings["jobs"],
            bar.update,
            _announce,
        )


def _ran(findings: Sequence[Finding], setup: ProbeSetup, inspection: Inspection) -> Confirmation:
    from coldfork.launch.probe.programs import confirm_by_running
    from coldfork.report.shared.progress import ProgressBar

    with ProgressBar(sys.stderr) as bar:
        return confirm_by_running(findings, setup, inspection.locate, bar.update, _announce_programs)


def _announce_programs(plan: RunPlan) -> None:
    """Announce the programs that will be run, because they may do anything."""
    count, limit = len(plan.commands), f"{plan.limit:g} s (--timeout)"
    if count == 1:
        head = f"--confirm=run runs a program for real, for {limit} at most:"
    else:
        head = f"--confirm=run runs {count} programs for real, one after another, each for {limit} at most:"
    output.note("\n".join((head, *(f"  {command}" for command in plan.commands))))


_MANY_MODULES = 10
_USUAL_SECONDS = 5
"""In seconds, how long importing PyTorch takes on many machines."""


def _announce(plan: ConfirmationPlan) -> None:
    """Announce how long importing many modules may take, and how to import fewer."""
    if plan.modules <= _MANY_MODULES:
        return
    most = 2 * plan.modules
    guessed = approximately(_USUAL_SECONDS * most / plan.jobs)
    output.note(
        f"--confirm imports {plan.modules} modules, {plan.jobs} at a time, and imports those that wake a "
        f"device again to find the line: up to {most} fresh interpreters, about {guessed} if each takes "
        f"{_USUAL_SECONDS} s, and at most {plan.limit:g} s each (--timeout)"
    )
    output.note(
        "narrow it with PATHS, --entry, --rules or --changed-since; Ctrl-C ends it and prints what was seen"
    )


def undone(settings: dict[str, Any]) -> str:
    """Return in words which part of an interrupted confirmation was not done."""
    return "modules were not imported" + (" or programs not run" if settings["confirm"] == RUN else "")
