"""Sentences shared by the formats of `coldfork probe`, and the conversion of its results to findings."""

from __future__ import annotations

import hashlib
from collections import Counter

from coldfork.model.causes import Audience, Cause
from coldfork.model.effects import Chain, EffectKind, Step, StepKind, Verdict
from coldfork.model.findings import Finding, Report, Severity, Skipped
from coldfork.model.observations import Statistics
from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.model.states import Level, Waker
from coldfork.report.shared.effects import calls_to_device, effect_of, effect_phrase, inside, rule_of
from coldfork.report.shared.quantities import plural

_DEVICES = {"opencl": "an OpenCL device", "jax": "a JAX device"}

_MOST_LEFT = 4

#: The order of the statuses in a summary, worst first.
_ORDER = (ProbeStatus.WOKEN, ProbeStatus.FAILED, ProbeStatus.UNKNOWN, ProbeStatus.COLD)


def headline(probe: ModuleProbe) -> str:
    """Return the result for a module in one sentence."""
    match probe.status:
        case ProbeStatus.WOKEN:
            return f"importing {probe.module} wakes {probe.accelerator}"
        case ProbeStatus.COLD:
            return f"importing {probe.module} leaves every device cold"
        case _:
            return f"importing {probe.module} could not be judged: {probe.reason}"


def rule(probe: ModuleProbe) -> str:
    """Return the rule under which `check` would report the line that woke the device."""
    return rule_of(_depth(probe))


def effect(probe: ModuleProbe) -> EffectKind:
    """Return the effect of the reported line on the device."""
    return effect_of(_depth(probe))


def effect_sentence(probe: ModuleProbe) -> str:
    """Return the effect of the last call on the device, such as `creates a CUDA context`."""
    return effect_phrase(effect(probe), probe.accelerator) if _depth(probe) else f"wakes {probe.accelerator}"


def deeper_sentence(probe: ModuleProbe) -> str:
    """Return a sentence if the import did more than the waking line; otherwise return an empty text."""
    if probe.woken_to is not Level.DRIVER or probe.level is not Level.CONTEXT:
        return ""
    phrase = effect_phrase(effect_of(probe.level), probe.accelerator)
    return f"later, the same import does more: it {phrase}"


def _depth(probe: ModuleProbe) -> Level | None:
    """Return how far the reported line woke the device."""
    return probe.woken_to or probe.level


def consequence(probe: ModuleProbe) -> str:
    """Return why it matters that the module wakes a device."""
    device = _DEVICES.get(probe.accelerator or "", "the GPU")
    return f"every process that imports this module can no longer fork workers that use {device}"


def standing(function: str | None) -> str:
    """Return the function or class that contains the waking line: `in the body of Builder`; empty without
    one.
    """
    name = inside(function)
    return f"in the body of {name}" if name else ""


def remedy(probe: ModuleProbe) -> str:
    """Return what to do about a woken module."""
    if probe.waker is None or probe.waker.line is None:
        return "find the line in the source with coldfork check"
    return "compute it on first use, not while the module is imported"


def advice(probe: ModuleProbe) -> str:
    """Return what to do next about a module that could not be judged."""
    if probe.reason is not None and "did not end within" in probe.reason:
        return f"give it more time: coldfork probe --timeout 600 {probe.module}"
    return f"see the error in the probed interpreter: python -c 'import {probe.module}'"


def interruption(probing: Probing) -> str:
    """Return a sentence about the modules that an interruption left untested; empty if there are none."""
    if not probing.interrupted:
        return ""
    left = probing.left
    shown = ", ".join(left[:_MOST_LEFT])
    more = f" and {len(left) - _MOST_LEFT} more" if len(left) > _MOST_LEFT else ""
    return "interrupted: " + (
        f"nothing is known about {plural(len(left), 'module')}: {shown}{more}"
        if left
        else "every module had been imported by then"
    )


def counts(probing: Probing) -> str:
    """Return `1 woken, 2 cold`, omitting statuses that did not occur."""
    found = Counter(probe.status for probe in probing.modules)
    return ", ".join(f"{found[status]} {status.value}" for status in _ORDER if found[status]) or "none"


def as_report(probing: Probing) -> Report:
    """Return a report with a finding for each known waking line; other modules that are not cold count as
    skipped.
    """
    findings = tuple(
        _finding(probe, probe.waker)
        for probe in probing.modules
        if probe.waker is not None and probe.waker.path is not None
    )
    reported = {finding.message for finding in findings}
    return Report(
        profile=probing.device,
        findings=findings,
        skipped=(
            *(
                Skipped(probe.module, headline(probe))
                for probe in probing.modules
                if probe.status is not ProbeStatus.COLD and headline(probe) not in reported
            ),
            *(Skipped(module, "the probe was interrupted") for module in probing.left),
        ),
        statistics=Statistics(len(probing.modules), 0, 0, probing.seconds),
        failing=len(findings),
        causes=tuple(_cause(finding) for finding in findings),
    )


def _cause(finding: Finding) -> Cause:
    """Return the cause of a finding of `probe`: it is always the waking line itself."""
    return Cause(
        id=finding.id,
        path=finding.path,
        line=finding.line,
        call=finding.chain.sink.symbol,
        accelerator=finding.accelerator,
        effect=finding.effect,
        verdict=finding.verdict,
        condition=None,
        audience=Audience.LIBRARY,
        remedy=finding.remedy,
        findings=(finding.id,),
    )


def _finding(probe: ModuleProbe, waker: Waker) -> Finding:
    path = waker.path or ""
    chain = _chain(probe, waker)
    identity = "\n".join((rule(probe), probe.module, path, *chain.symbols))
    return Finding(
        id=hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:20],
        rule=rule(probe),
        severity=Severity.ERROR,
        verdict=Verdict.CERTAIN,
        condition=None,
        presumed=(),
        accelerator=probe.accelerator,
        effect=effect(probe).value,
        module=probe.module,
        path=path,
        line=waker.line or 0,
        column=0,
        position=None,
        test=False,
        message=headline(probe),
        consequence=consequence(probe),
        remedy=remedy(probe),
        chain=chain,
        text=probe.text,
        where=standing(waker.function),
        confirmed="woken",
    )


def _chain(probe: ModuleProbe, waker: Waker) -> Chain:
    """Return a chain like one from `check`: the imports, then the calls."""
    imports = [
        Step(StepKind.IMPORT if depth else StepKind.MODULE, site.module, site.path, site.line)
        for depth, site in enumerate(waker.import_chain)
    ]
    calls = [Step(StepKind.CALL, frame.function, frame.path, frame.line) for frame in calls_to_device(waker)]
    return Chain((*imports, *calls, Step(StepKind.SINK, waker.call or str(probe.accelerator))))
