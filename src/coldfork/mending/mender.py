"""Mends the findings of a check in memory: drafts fixes, applies them, and repeats until nothing changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from coldfork.checking.inspection import Inspection
from coldfork.checking.reporting import report_of
from coldfork.checking.request import CheckRequest
from coldfork.knowledge import catalogue
from coldfork.mending.cells import written
from coldfork.mending.drafting import fix_of
from coldfork.mending.project import Project
from coldfork.mending.text import CannotMend, replaced
from coldfork.model.causes import Applicability, Cause, Fix, Refusal
from coldfork.model.effects import PROFILES, Position
from coldfork.model.findings import Finding, Report
from coldfork.rules.causes.grouping import Origins, wakes
from coldfork.rules.registry import PROCESSES
from coldfork.source.files.reading import NOTEBOOK, CannotRead

_MORE_ROUNDS = 8
"""The number of rounds that are allowed in addition to one for each cause."""
_APART = frozenset({Position.CLASS_BODY, Position.DEFAULT_ARGUMENT})
"""Positions at which a fix does not change the module's own names."""
_ANY_ORDER = "the cells of a notebook may be run in any order"
_ASKS = re.compile(r"(?:(?:is|has|can|get|mem_get|current|default|supports)_|device_count$|_?is_)")
"""Names of calls that only answer a question; other calls of the same libraries create or set things."""

Inspect = Callable[[CheckRequest], Inspection]


@dataclass(frozen=True, slots=True)
class MendedFile:
    """A file that fixes have changed."""

    file: str
    """Its absolute path."""
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Mending:
    """The outcome of mending for each cause of a check."""

    report: Report
    """The findings that remain after the fixes."""
    inspection: Inspection
    files: tuple[MendedFile, ...]
    mended: tuple[Fix, ...]
    left: Mapping[str, Fix | Refusal]
    """For each remaining cause, by id: a fix that may not be applied, or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The result of a check of the files in their current state."""

    inspection: Inspection
    report: Report
    project: Project


def _seen(inspection: Inspection) -> _Seen:
    return _Seen(inspection, report_of(inspection), project_of(inspection))


@dataclass(slots=True)
class _Work:
    """The files while they are being mended, and the fixes applied so far."""

    request: CheckRequest
    inspect: Inspect
    rules: frozenset[str]
    causes: frozenset[str]
    originals: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    """How many possible fixes of each cause have failed the check."""
    retry: bool = False
    """True if a fix was applied after another one had failed."""


def mend(
    request: CheckRequest,
    inspect: Inspect,
    allowed: Applicability = Applicability.SAFE,
    rules: frozenset[str] = frozenset(),
    causes: frozenset[str] = frozenset(),
) -> Mending:
    """Mend the findings of a request, by fixes at least as safe as `allowed`, for these rules and causes or
    for all.

    Nothing is written. A fix is undone if it causes a new finding or does not remove its own.
    """
    work = _Work(request, inspect, rules, causes)
    seen = _seen(inspect(request))
    mended: list[Fix] = []
    left: dict[str, Fix | Refusal] = {}
    for _ in range(len(seen.report.causes) + _MORE_ROUNDS):
        left = _drafted(work, seen, careful=allowed is Applicability.SAFE)
        fixes = (fix for fix in left.values() if isinstance(fix, Fix))
        chosen = _apart(fix for fix in fixes if fix.applicability.rank >= allowed.rank)
        chosen = _first_of(chosen, seen.report)
        if chosen:
            applied, seen = _applied(work, seen, chosen)
            mended += applied
            work.retry |= bool(applied and work.refused)
        elif work.retry:
            # A refused fix may pass now that others are applied, as it would in a second run.
            work.retry = False
            work.refused.clear()
        else:
            break
    files = tuple(
        MendedFile(file, work.originals[file], after)
        for file, after in sorted(work.texts.items())
        if after != work.originals[file]
    )
    there = {cause.id for cause in seen.report.causes}
    left = {cause: fix for cause, fix in left.items() if cause in there}
    return Mending(seen.report, seen.inspection, files, tuple(mended), left)


def project_of(inspection: Inspection) -> Project:
    """Return the checked files of an inspection as a project that fixes can examine."""
    files = {module.path: module.file for module in inspection.observation.modules if module.file}

    def read(path: str) -> bytes:
        try:
            return inspection.reader.read_bytes(files[path])
        except (KeyError, CannotRead):
            raise CannotMend("its file cannot be read") from None

    modules = {module.name: module.path for module in inspection.observation.modules if module.file}
    return Project(modules, read, _questions(inspection))


def _questions(inspection: Inspection) -> Callable[[str], bool]:
    """Return a function that tells whether a call merely queries devices, according to the catalogue."""
    request = inspection.request
    machines = [PROFILES[name] for name in {request.main_profile, *inspection.observation.further}]
    known = [catalogue.load(machine, {}, request.configuration.knowledge) for machine in machines]

    def is_question(symbol: str) -> bool:
        asks = _ASKS.match(symbol.rpartition(".")[2]) is not None
        return any((asks and each.call(symbol)) or each.is_harmless(symbol) for each in known)

    return is_question


def _drafted(work: _Work, seen: _Seen, careful: bool = False) -> dict[str, Fix | Refusal]:
    """Return a fix for each requested cause, or the reason why there is none."""
    by_id = {finding.id: finding for finding in seen.report.findings}
    return {
        cause.id: _as_run(fix_of(cause, by_id, seen.project, work.refused[cause.id], careful), cause, by_id)
        for cause in seen.report.causes
        if _is_asked_for(work, cause, by_id)
    }


def _as_run(fix: Fix | Refusal, cause: Cause, findings: Mapping[str, Finding]) -> Fix | Refusal:
    """Return the fix; mark it unsafe if it binds names in a notebook, whose cells run in any order."""
    found = [findings[name] for name in cause.findings if name in findings]
    positions = {finding.position for finding in found if finding.leads_to(cause)}
    if isinstance(fix, Refusal) or positions <= _APART or fix.applicability is not Applicability.SAFE:
        return fix
    if not any(edit.path.endswith(NOTEBOOK) for edit in fix.edits):
        return fix
    return replace(fix, applicability=Applicability.UNSAFE, reason=_ANY_ORDER)


def _is_asked_for(work: _Work, cause: Cause, findings: Mapping[str, Finding]) -> bool:
    if cause.accepted or (work.causes and cause.id not in work.causes):
        return False
    rules = {findings[name].rule for name in cause.findings if name in findings}
    return bool(rules) and (not work.rules or rules <= work.rules)


def _apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Return as many of these fixes as do not overlap, preferring the first ones."""
    chosen: list[Fix] = []
    for fix in fixes:
        if not any(_touch(fix, other) or fix.shares & other.shares for other in chosen):
            chosen.append(fix)
    return chosen


def _first_of(fixes: list[Fix], report: Report) -> list[Fix]:
    """Return the fixes of what an import does, or without those the fixes of how processes are started.

    A process that is started in a way that a woken device forbids may be fine once the device stays cold.
    """
    rules = {finding.id: finding.rule for finding in report.findings}
    starts = {
        cause.id for cause in report.causes if all(rules.get(name) in PROCESSES for name in cause.findings)
    }
    return [fix for fix in fixes if fix.cause not in starts] or fixes


def _touch(one: Fix, other: Fix) -> bool:
    """Return whether two fixes change the same place, unless both insert the same text."""
    for edit in one.edits:
        for others in other.edits:
            if edit.path != others.path:
                continue
            start, end = (edit.line, edit.column), (edit.end_line, edit.end_column)
            from_, to = (others.line, others.column), (others.end_line, others.end_column)
            if start < to and from_ < end:
                return True
            if start == from_ and edit.text != others.text:
                return True
    return False


def _applied(
    work: _Work, seen: _Seen, fixes: list[Fix], kept: tuple[Fix, ...] = ()
) -> tuple[tuple[Fix, ...], _Seen]:
    """Add as many of these fixes to those kept as together pass the check.

    If some fail, the fixes that no remaining finding speaks against are tried first; if that does not
    separate them, each half is tried. A fix that fails by itself is refused.
    """
    after, blamed = _attempt(work, seen, [*kept, *fixes])
    if after is not None:
        return (*kept, *fixes), after
    if len(fixes) == 1:
        work.refused[fixes[0].cause] += 1
        return kept, seen
    parts = [fix for fix in fixes if not any(edit.path in blamed for edit in fix.edits)]
    if not parts or len(parts) == len(fixes):
        parts = fixes[: len(fixes) // 2]
    latest = seen
    for part in (parts, [fix for fix in fixes if fix not in parts]):
        grown, after = _applied(work, seen, part, kept)
        if grown != kept:
            kept, latest = grown, after
    return kept, latest


def _attempt(work: _Work, seen: _Seen, fixes: list[Fix]) -> tuple[_Seen | None, set[str]]:
    """Return the files after these fixes; None if the check fails, in which case no file is changed.

    The paths are those of findings that speak against the fixes.
    """
    files = {module.path: module.file for module in seen.inspection.observation.modules}
    texts = dict(work.texts)
    try:
        for path in {edit.path for fix in fixes for edit in fix.edits}:
            file, source = files[path], seen.project.tree(path).source
            edits = {edit for fix in fixes for edit in fix.edits if edit.path == path}
            raw = seen.inspection.reader.raw(file)
            work.originals.setdefault(file, raw)
            text = source.encoded(replaced(source, map(source.replacement, edits)))
            texts[file] = written(raw, edits) if path.endswith(NOTEBOOK) else text
    except (CannotMend, CannotRead):
        return None, set()
    after = _seen(work.inspect(replace(work.request, overlays={**work.request.overlays, **texts})))
    blamed = set(_against(seen, after, {fix.cause for fix in fixes}))
    if blamed:
        return None, blamed
    work.texts = texts
    return after, blamed


def _against(before: _Seen, after: _Seen, mended: set[str]) -> Iterator[str]:
    """Yield the path of each line that still wakes a device after mending, or that newly wakes one.

    The effect of another line may now be reported at the place of a mended line. A line that woke the device
    may be replaced by one that merely queries it.
    """
    ids = {finding.id for finding in before.report.findings}
    lines, gone = set(_lines(before)), set(_lines(before, mended))
    woken = Counter(one.path for one in before.report.findings if one.cause in mended and wakes(one))
    asking: Counter[str] = Counter()
    for finding, line in zip(after.report.findings, _lines(after), strict=True):
        if finding.cause in mended or line in gone:
            yield line[0]
        elif finding.id not in ids and line not in lines:
            if wakes(finding) or finding.accelerator is None:
                yield line[0]
            asking[finding.path] += 1
    yield from asking - woken


def _lines(seen: _Seen, causes: Collection[str] | None = None) -> Iterator[tuple[str, str, str | None]]:
    """Yield the lines that findings come from, by text; with `causes`, only the lines of these."""
    origins = Origins(seen.inspection.observation.modules)
    places = {cause.id: (cause.path, cause.line) for cause in seen.report.causes}
    for finding in seen.report.findings:
        origin = origins.of(finding)
        if causes is None or (
            finding.cause in causes and places[finding.cause] == (origin.path, origin.line)
        ):
            yield origin.path, " ".join(origin.text.split()), finding.accelerator
