"""Workflow commands of `coldfork probe` that GitHub Actions turns into annotations."""

from __future__ import annotations

from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.report.findings.hosts import github
from coldfork.report.probes.words import advice, as_report, headline, interruption
from coldfork.report.shared.characters import alphabet, one_line
from coldfork.report.shared.options import Options


def render(probing: Probing, options: Options) -> str:
    """Write an error for each waking line, and a warning for each module that could not be judged."""
    report = as_report(probing)
    unplaced = {skipped.path for skipped in report.skipped}
    commands = [_unplaced(probe, options) for probe in probing.modules if probe.module in unplaced]
    if probing.interrupted:
        said = alphabet(options.encoding).clean(interruption(probing))
        commands.append(f"::warning title=coldfork%3A probe::{github.data(said)}")
    return github.render(report, options) + "".join(f"{command}\n" for command in commands)


def _unplaced(probe: ModuleProbe, options: Options) -> str:
    letters = alphabet(options.encoding)
    woken = probe.status is ProbeStatus.WOKEN
    sentences = [headline(probe), probe.reason or ""] if woken else [headline(probe), advice(probe)]
    said = github.data("\n".join(letters.clean(one_line(sentence)) for sentence in sentences if sentence))
    return f"::{'error' if woken else 'warning'} title=coldfork%3A probe::{said}"
