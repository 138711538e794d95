"""JUnit XML of `coldfork probe`: one test case for each module."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.report.findings.hosts import junit
from coldfork.report.probes import text
from coldfork.report.probes.words import headline, rule
from coldfork.report.shared.characters import one_line, xml_safe
from coldfork.report.shared.options import Options


def render(probing: Probing, options: Options) -> str:
    """Write one suite, with woken modules as failures, and those that could not be judged as errors.

    Modules that an interruption left untested are skipped.
    """
    suites = ET.Element("testsuites", name="coldfork")
    suite = ET.SubElement(suites, "testsuite", name=xml_safe(f"coldfork probe on {probing.device}"))
    for probe in probing.modules:
        _add(suite, probe, probing, options)
    for module in probing.left:
        case = ET.SubElement(
            suite, "testcase", classname="coldfork.probe", name=xml_safe(module), time="0.000"
        )
        ET.SubElement(case, "skipped", message="the probe was interrupted")
    junit.count(suites, suite, probing.seconds)
    return junit.document(suites)


def _add(suite: ET.Element, probe: ModuleProbe, probing: Probing, options: Options) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname="coldfork.probe",
        name=xml_safe(probe.module),
        time=f"{probe.seconds:.3f}",
    )
    if probe.status is ProbeStatus.COLD:
        return
    woken = probe.status is ProbeStatus.WOKEN
    kind = rule(probe) if woken else probe.status.value
    message = xml_safe(one_line(headline(probe)))
    problem = ET.SubElement(case, "failure" if woken else "error", message=message, type=kind)
    problem.text = xml_safe(text.account(probe, probing, options))
