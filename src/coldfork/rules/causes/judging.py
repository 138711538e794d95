"""Makes the causes of a check; all causes come from here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from coldfork.model.causes import Cause, Line, Way
from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import Faults, Observation
from coldfork.rules.causes.gates import Gates
from coldfork.rules.causes.grouping import Origin, Origins, names_import, wakes
from coldfork.rules.causes.newcomers import Seed, Warmth
from coldfork.rules.findings import drafting, wording

_LAZY_INIT = "empty this __init__, or make all that it imports lazy with a module __getattr__ (PEP 562)"
_LAZY_MODULE = "import what leads to the device inside the functions that use it"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings, each with the id of its cause, and the causes."""

    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]


def judge(
    observation: Observation,
    findings: Sequence[Finding],
    *,
    gates: bool = True,
    faults: Faults | None = None,
) -> Judgement:
    """Find the lines that the findings come from; the causes that wake most modules come first.

    With `gates`, the imports by which a module passes on the effects of other lines get an entry of their own
    if mending them alone keeps more modules cold than mending any of those lines.
    """
    faults = faults or Faults()
    origins = Origins(observation.modules)
    warmth = faults.attempt(lambda: Warmth(observation.modules, observation.imports), Warmth((), ()))
    seen: Counter[str] = Counter()
    causes = []
    cause_of: dict[str, str] = {}
    groups = faults.attempt(lambda: origins.groups(findings), list(map(_alone, findings)))
    for origin, members in sorted(groups, key=lambda group: group[0][:2]):
        essence = "\0".join((origin.path, " ".join(origin.text.split()), members[0].accelerator or ""))
        name = drafting.digest(essence, seen[essence])
        seen[essence] += 1
        first = members[0]
        causes.append(
            faults.attempt(
                partial(_cause, name, origin, members, origins, warmth),
                _plain_cause(name, origin, members, origins),
                first.module,
                first.path,
                first.line,
            )
        )
        cause_of.update((finding.id, name) for finding in members)
    if gates:
        leaves = causes
        causes = faults.attempt(lambda: _with_gates(observation, findings, leaves, origins, warmth), leaves)
        cause_of.update((name, cause.id) for cause in causes for name in cause.findings)
    named = tuple(replace(finding, cause=cause_of[finding.id]) for finding in findings)
    if observation.entries:  # a check of entries is reported in the order in which their import runs
        named = tuple(sorted(named, key=lambda finding: (finding.turn, *drafting.place(finding))))
        return Judgement(named, tuple(sorted(causes, key=lambda cause: (cause.turn, *_order(cause)))))
    return Judgement(named, tuple(sorted(causes, key=_order)))


def _with_gates(
    observation: Observation,
    findings: Sequence[Finding],
    causes: list[Cause],
    origins: Origins,
    warmth: Warmth,
) -> list[Cause]:
    """Return the causes and, for each accelerator, the import whose mending helps more than any of them."""
    passing: dict[str, dict[str, list[Finding]]] = {}
    for finding in findings:
        origin = origins.of(finding)
        if wakes(finding) and origin.is_import and origins.is_consequence(finding, origin):
            modules = passing.setdefault(finding.accelerator or "", {})
            modules.setdefault(finding.module, []).append(finding)
    gates = Gates(observation.modules, observation.imports)
    for accelerator, modules in sorted(passing.items()):
        surest = max(member.verdict.rank for members in modules.values() for member in members)
        modules = {
            name: sure
            for name, members in modules.items()
            if (sure := [one for one in members if one.verdict.rank == surest])
        }
        behind = [
            cause for cause in causes if cause.accelerator == accelerator and cause.verdict.rank >= surest
        ]
        widest = gates.widest(behind, modules) if len(behind) > 1 else None
        if widest is not None:
            module, spares = widest
            members = sorted(modules[module], key=lambda one: (-one.verdict.rank, one.line))
            causes = [*_without(causes, members), _gate(members, spares, origins, warmth)]
    return causes


def _without(causes: Iterable[Cause], members: Sequence[Finding]) -> Iterator[Cause]:
    """Yield the causes without these findings; a cause that has no others keeps them."""
    taken = {finding.id for finding in members}
    for cause in causes:
        left = tuple(name for name in cause.findings if name not in taken)
        yield replace(cause, findings=left) if left else cause


def _gate(members: Sequence[Finding], spares: tuple[str, ...], origins: Origins, warmth: Warmth) -> Cause:
    first = members[0]
    remedy = _LAZY_INIT if first.path.endswith("/__init__.py") else _LAZY_MODULE
    if all(member.remedy.startswith(wording.LAZILY) for member in members):
        remedy = f"{wording.LAZILY}{remedy}"
    essence = "\0".join((first.path, "passes on", first.accelerator or ""))
    steps = first.chain.steps
    return Cause(
        id=drafting.digest(essence, 0),
        path=first.path,
        line=first.line,
        call=f"import {steps[1].symbol.removeprefix('import ')}" if len(steps) > 1 else None,
        accelerator=first.accelerator,
        effect=first.effect,
        verdict=first.verdict,
        condition=first.condition,
        audience=origins.audience(first),
        remedy=remedy,
        findings=tuple(finding.id for finding in members),
        ways=warmth.ways({first.module: Seed(first.path, first.line)}),
        spares=spares,
        turn=first.turn,
    )


def since(causes: Sequence[Cause], findings: Sequence[Finding], known: Container[str]) -> tuple[Cause, ...]:
    """Return the causes that remain once the findings whose ids are in `known` have been accepted.

    A cause that has both accepted and other findings is an old one with new ways to it.
    """
    by_id = {finding.id: finding for finding in findings}
    left = []
    for cause in causes:
        fresh = tuple(name for name in cause.findings if name not in known)
        if len(fresh) == len(cause.findings):
            left.append(cause)
        elif fresh:
            first = by_id[fresh[0]]
            left.append(replace(_cut(cause, fresh, by_id), accepted=True, remedy=first.remedy))
    return tuple(left)


def restricted(causes: Sequence[Cause], findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """Return the causes that remain if only these findings are reported."""
    by_id = {finding.id: finding for finding in findings}
    return tuple(
        _cut(cause, left, by_id)
        for cause in causes
        if (left := tuple(name for name in cause.findings if name in by_id))
    )


def _cut(cause: Cause, left: tuple[str, ...], by_id: Mapping[str, Finding]) -> Cause:
    """Return a cause reduced to these findings; the first of them gives its verdict."""
    if left == cause.findings:
        return cause
    first = by_id[left[0]]
    return replace(cause, findings=left, verdict=first.verdict, condition=first.condition)


def _cause(name: str, origin: Origin, members: Sequence[Finding], origins: Origins, warmth: Warmth) -> Cause:
    return replace(
        _plain_cause(name, origin, members, origins),
        audience=min((origins.audience(finding) for finding in members), key=lambda one: one.rank),
        remedy=_remedy(origin, members, origins),
        ways=_ways(origin, members, origins, warmth),
        then=_then(origin, members, origins),
        turn=min(finding.turn for finding in _direct(origin, members, origins)),
    )


def _alone(finding: Finding) -> tuple[Origin, list[Finding]]:
    return Origin(finding.path, finding.line, finding.text, finding.module, None), [finding]


def _plain_cause(name: str, origin: Origin, members: Sequence[Finding], origins: Origins) -> Cause:
    """Return a cause made only from its findings, without the modules that it wakes."""
    first = members[0]
    return Cause(
        id=name,
        path=origin.path,
        line=origin.line,
        call=origin.call,
        accelerator=first.accelerator,
        effect=first.effect,
        verdict=first.verdict,
        condition=first.condition,
        audience=origins.audience(first),
        remedy=first.remedy,
        findings=tuple(finding.id for finding in members),
        turn=first.turn,
    )


def _direct(origin: Origin, members: Sequence[Finding], origins: Origins) -> Sequence[Finding]:
    """Return the findings that are not merely consequences of the line; if all are, return all."""
    return [finding for finding in members if not origins.is_consequence(finding, origin)] or members


def _ways(origin: Origin, members: Sequence[Finding], origins: Origins, warmth: Warmth) -> tuple[Way, ...]:
    seeds: dict[str, Seed] = {}
    for finding in _direct(origin, [finding for finding in members if wakes(finding)], origins):
        sure = finding.verdict.rank >= members[0].verdict.rank
        if finding.module not in seeds or (sure and not seeds[finding.module].sure):
            seeds[finding.module] = Seed(finding.path, finding.line, sure)
    first = members[0]
    missing = any(map(names_import, first.chain.symbols[-1:]))
    optional = missing and first.verdict is Verdict.CERTAIN  # otherwise the condition says so already
    return warmth.ways(seeds, optional=optional)


def _then(origin: Origin, members: Sequence[Finding], origins: Origins) -> tuple[Line, ...]:
    """Return the lines that would wake the device if the cause did not always do so first."""
    lines = (origins.then(finding) for finding in members if origins.of(finding)[:2] == origin[:2])
    return tuple(dict.fromkeys(Line(one.path, one.line, one.call) for one in lines if one is not None))


def _remedy(origin: Origin, members: Sequence[Finding], origins: Origins) -> str:
    """Return the best remedy: if several lines call a function, the function should be mended and not each
    call.
    """
    lines = {
        (finding.path, finding.line)
        for finding in members
        if not origins.is_consequence(finding, origin) and origins.of(finding)[:2] == origin[:2]
    }
    remedy = members[0].remedy
    if origins.is_consequence(members[0], origin):
        return _mended_there(origin)
    if len(lines) < 2 or (origin.path, origin.line) in lines:
        return remedy
    return f"mend {origin.function} rather than the {len(lines)} lines that call it on import. {remedy}"


def _mended_there(origin: Origin) -> str:
    """Return the remedy for a line that is reached only by imports: mend the line, not the imports."""
    if origin.is_import:
        return f"{origin.call} inside the function that uses it"
    return f"mend {origin.path}:{origin.line}: make it happen on first use, not on import"


def _order(cause: Cause) -> tuple[int, int, int, str, int]:
    return cause.audience.rank, -cause.verdict.rank, -cause.warms, cause.path, cause.line
