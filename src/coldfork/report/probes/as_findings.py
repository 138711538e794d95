"""The result of `coldfork probe` as findings, for formats that know nothing but findings."""

from __future__ import annotations

import hashlib

from coldfork.model.chains import Chain, Step, StepKind
from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding, Report, Severity, Skipped
from coldfork.model.observations import Statistics
from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.model.states import Waker
from coldfork.report.probes.words import consequence, effect, headline, remedy, rule, standing
from coldfork.report.shared.wakers import calls_to_device


def as_report(probing: Probing) -> Report:
    """A finding for each waking line that is known; all else that is not cold counts as not analysed."""
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
    """The imports, then the calls: what `check` would have found, as it was seen."""
    imports = [
        Step(StepKind.IMPORT if depth else StepKind.MODULE, site.module, site.path, site.line)
        for depth, site in enumerate(waker.import_chain)
    ]
    calls = [Step(StepKind.CALL, frame.function, frame.path, frame.line) for frame in calls_to_device(waker)]
    return Chain((*imports, *calls, Step(StepKind.SINK, waker.call or str(probe.accelerator))))
