"""Import the modules that findings are about, each in a fresh interpreter, and report the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coldfork.launch.probe.comparison import Comparison, compare, packages_named, refusal
from coldfork.launch.probe.probe import ProbeRequest, jobs_for, missing, probe
from coldfork.launch.probe.report_paths import root_by_name
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.findings import Confirmed, Finding
from coldfork.model.observations import Progress
from coldfork.model.probes import ModuleProbe

_TOO_EARLY = "the imports were interrupted before it was tested"


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a finding: its file, and the folder from which its module's name counts."""

    root: str
    file: str


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The findings with the outcomes of importing their modules."""

    findings: tuple[Finding, ...]
    interrupted: bool
    """Whether the imports were interrupted; findings that were not tested by then count as not testable."""


@dataclass(frozen=True, slots=True)
class ConfirmationPlan:
    """The imports that are about to be made to confirm findings."""

    modules: int
    """The number of modules, each imported in an interpreter of its own, and again if it wakes a device."""
    jobs: int
    """The number of imports at a time."""
    limit: float
    """The seconds that one import may take."""


def untested(findings: Iterable[Finding]) -> Confirmation:
    """Return the findings as untested, after an interruption before the first import."""
    told = (untestable(one, _TOO_EARLY) if one.accelerator else one for one in findings)
    return Confirmation(tuple(told), interrupted=True)


def untestable(finding: Finding, reason: str) -> Finding:
    """Mark a finding as not testable for this reason."""
    return replace(finding, confirmed=Confirmed.NOT_TESTABLE, confirmation=reason)


def confirm(
    findings: Sequence[Finding],
    setup: ProbeSetup,
    profile: str,
    locate: Callable[[str], str],
    jobs: int = 0,
    progress: Progress | None = None,
    announce: Callable[[ConfirmationPlan], None] | None = None,
) -> Confirmation:
    """Return the findings with the outcomes of importing their modules; findings that concern no device are
    unchanged.

    `announce` is called with the plan before the first import.
    """
    comparison = Comparison.before(setup.virtual, profile)
    places = {finding.path: place_of(finding, locate) for finding in findings}
    roots = tuple(dict.fromkeys(place.root for place in places.values() if place is not None))
    testable = [
        finding
        for finding in findings
        if finding.accelerator and places[finding.path] and refusal(finding, comparison) is None
    ]
    total = len({(finding.path, finding.module) for finding in testable})
    if announce is not None:
        announce(ConfirmationPlan(total, max(1, min(jobs_for(jobs), total)), setup.timeout))
    named = frozenset[str]().union(*(packages_named(finding) for finding in testable))
    around_all = replace(setup, before=(*roots, *setup.before))
    comparison = replace(comparison, absent=missing(named, around_all))
    probes: dict[tuple[str, str], ModuleProbe] = {}
    files: dict[str, dict[str, str]] = {}
    interrupted = False
    for root in roots:
        modules = _modules_below(root, testable, places)
        if not modules:
            continue
        around = replace(setup, before=(root, *(other for other in roots if other != root), *setup.before))
        onward = None if progress is None else _from(progress, len(probes), total)
        result = probe(ProbeRequest(modules, around, jobs), onward, comparison.device)
        probes |= {(root, module.module): module for module in result.modules}
        files[root] = dict(result.files)
        if result.interrupted:
            interrupted = True
            break
    answered = (
        _with_answer(finding, places[finding.path], probes, files, comparison) for finding in findings
    )
    return Confirmation(tuple(answered), interrupted)


def place_of(finding: Finding, locate: Callable[[str], str]) -> Place | None:
    """Return the place of a finding; None if importing its module would not load its file."""
    file = str(Path(locate(finding.path)).absolute())
    root = root_by_name(file, finding.module)
    return Place(root, file) if root is not None and Path(file).is_file() else None


def _modules_below(
    root: str, findings: Iterable[Finding], places: dict[str, Place | None]
) -> tuple[str, ...]:
    modules = dict.fromkeys(
        finding.module
        for finding in findings
        if (place := places[finding.path]) is not None and place.root == root
    )
    return tuple(modules)


def _from(progress: Progress, done: int, total: int) -> Progress:
    """Convert progress within one group of imports into progress of all imports."""
    return lambda stage, count, _, module: progress(stage, done + count, total, module)


def _with_answer(
    finding: Finding,
    place: Place | None,
    probes: dict[tuple[str, str], ModuleProbe],
    files: dict[str, dict[str, str]],
    comparison: Comparison,
) -> Finding:
    if not finding.accelerator:
        return finding
    reason = refusal(finding, comparison)
    if reason is not None or place is None:
        return untestable(finding, reason or f"importing {finding.module} would not find this file")
    seen = probes.get((place.root, finding.module))
    if seen is None:
        return untestable(finding, _TOO_EARLY)
    confirmed, said = compare(finding, seen, place.file, replace(comparison, files=files[place.root]))
    return replace(finding, confirmed=confirmed, confirmation=said)
