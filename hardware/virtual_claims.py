"""The virtual device held against the real one, field by field."""

from __future__ import annotations

import re
from typing import Any

from coldfork.virtual import PROFILES
from hardware.children import Bench
from hardware.claims import Finding, Section, same, untestable

#: Differ from one board, driver or torch build to the next; only that they are there is compared.
_VARYING = re.compile(r"version|uuid|pci|memory|clock|attribute (13|33|34|36|50|86|102|110|120|13\d|14\d)$")


def virtual(bench: Bench) -> Section:
    """Every answer of the real device that the virtual one of its name gives too."""
    name = "virtual device"
    real = bench.run("device_answers", bench.driver, bench.management, "-")
    if "untestable" in real:
        return Section(
            name, (untestable(name, "the virtual device answers like a real one", real["untestable"]),), real
        )
    product = str(real["driver"].get("name", ""))
    profile = next((p for p in PROFILES.values() if p.product == product), None)
    if profile is None:
        why = f"no virtual device is called {product!r}"
        return Section(
            name, (untestable(name, "the virtual device answers like a real one", why),), {"real": real}
        )
    unreal = bench.run("device_answers", "libcuda.so.1", "libnvidia-ml.so.1", profile.name)
    findings: list[Finding] = []
    for part in ("driver", "management", "torch"):
        findings += _compared(name, part, real[part], unreal.get(part, {}))
    return Section(name, tuple(findings), {"profile": profile.name, "real": real, "virtual": unreal})


def _compared(section: str, part: str, real: dict[str, Any], unreal: dict[str, Any]) -> list[Finding]:
    if "missing" in real or "missing" in unreal:
        why = f"real: {real.get('missing', 'there')}; virtual: {unreal.get('missing', 'there')}"
        return [untestable(section, f"{part} answers alike", why)]
    findings = []
    for field, value in real.items():
        claim = f"{part}, {field}: the virtual device answers like the real one"
        if field not in unreal:
            findings.append(Finding(section, claim, False, value, None, "the virtual device does not answer"))
        elif _VARYING.search(field):
            findings.append(
                Finding(
                    section,
                    claim,
                    type(value) is type(unreal[field]),
                    value,
                    unreal[field],
                    "may vary; the kind is compared",
                )
            )
        else:
            findings.append(same(section, claim, value, unreal[field]))
    return findings
