"""Claims on the driver: its return codes, its injection hook, and coldfork's probes of it."""

from __future__ import annotations

import tempfile
from typing import Any

from hardware.children import Bench
from hardware.claims import Finding, Section, same, untestable

_ASKED = ("cuDeviceGetCount", "cuCtxGetCurrent", "cuDevicePrimaryCtxGetState")
NOT_INITIALISED = 3


def codes(bench: Bench) -> Section:
    """The table of return codes in a parent, the child of a virgin parent and the child of an awake one."""
    name, found = "return codes", bench.run("driver_codes", bench.driver)
    if "untestable" in found:
        claim = "functions of the driver answer 3 before cuInit"
        return Section(name, (untestable(name, claim, found["untestable"]),), found)
    findings: list[Finding] = []
    rows = (
        ("cold", "before cuInit", NOT_INITIALISED),
        ("awake", "after cuInit", 0),
        ("child of cold", "in a child forked before cuInit", NOT_INITIALISED),
        ("child of awake", "in a child forked after cuInit", NOT_INITIALISED),
        ("awake after the fork", "in the parent after it forked a child that failed", 0),
    )
    for row, moment, expected in rows:
        findings += [
            same(name, f"{function} returns {expected} {moment}", expected, found[row].get(function))
            for function in _ASKED
        ]
        claim = f"cuDriverGetVersion returns 0 {moment}, so that it tells nothing"
        findings.append(same(name, claim, 0, found[row].get("cuDriverGetVersion")))
    findings += [
        same(name, "cuInit returns 0", 0, found["cuInit"]),
        same(name, "cuInit creates no context", False, found["primary context after cuInit"]),
        same(name, "cuInit returns 0 in a child forked before it", 0, found["child of cold"].get("cuInit")),
        same(name, "cuInit returns 3 in a child forked after it", 3, found["child of awake"].get("cuInit")),
    ]
    return Section(name, tuple(findings), found)


def injection(bench: Bench) -> Section:
    """When an injected library is called, and whether the driver holds a lock meanwhile."""
    name = "injection"
    with tempfile.TemporaryDirectory() as folder:
        found = bench.run("injection", bench.driver, folder)
    if "untestable" in found:
        claim = "cuInit calls InitializeInjection of CUDA_INJECTION64_PATH"
        return Section(name, (untestable(name, claim, found["untestable"]),), found)
    calls = found["calls"]
    answered = [call["another thread was answered"] for call in calls]
    locked = Finding(
        name,
        "another thread may enter the driver while an injected library is called",
        all(answered) if calls else None,
        True,
        answered,
        "where it does not hold, an injected library must never wait for another thread; ours never does",
    )
    return Section(
        name,
        (
            same(
                name,
                "loading the driver does not call it",
                False,
                found["called when loaded"],
            ),
            same(name, "cuInit calls it once, however often cuInit is called", 1, len(calls)),
            locked,
        ),
        found,
    )


_STATES: tuple[tuple[str, str, str | None], ...] = (
    ("absent", "absent", None),
    ("cold", "cold", None),
    ("child of cold", "cold", None),
    ("awake", "awake", "driver"),
    ("context", "awake", "context"),
    ("child of awake", "poisoned", None),
)


def probes(bench: Bench) -> Section:
    """Check what coldfork's probes say at each stage, and what they cost."""
    name, found = "probes", bench.run("probe_cost", bench.driver)
    if "untestable" in found:
        return Section(name, (untestable(name, "probes tell the state", found["untestable"]),), found)
    findings = [
        same(name, f"the probe of a driver that is {moment} says {status}", status, found[moment]["status"])
        for moment, status, _ in _STATES
    ]
    findings += [
        same(name, f"its level is {level} when {moment}", level, found[moment]["level"])
        for moment, _, level in _STATES
        if level is not None
    ]
    return Section(name, (*findings, *_costs(name, found)), found)


def _costs(name: str, found: dict[str, Any]) -> list[Finding]:
    limit = 10.0
    return [
        Finding(
            name,
            f"a poll costs under {limit:g} microseconds while the driver is {moment}",
            found[f"{moment} us"] < limit,
            limit,
            found[f"{moment} us"],
        )
        for moment in ("absent", "cold", "awake", "context")
    ]
