"""Claims on graphs: the same programs captured on the device and virtually, and what replays compute."""

from __future__ import annotations

import math
from typing import Any

from hardware.children import Bench
from hardware.claims import Finding, Section, same, untestable

NAME = "graphs"
TOLERANCE = 1e-5
OVERHEAD = 15.0
"""Microseconds that a manager may add to a replay on the host."""
_RANDOM = frozenset(("drawing",))


def graphs(bench: Bench) -> Section:
    """Check which captures fail, what the others compute, and what a replay costs."""
    unreal = bench.run("graph_programs", "cpu")
    real = bench.run("graph_programs", "cuda")
    for one in (unreal, real):
        if "untestable" in one:
            claim = "virtual and real captures agree"
            return Section(
                NAME, (untestable(NAME, claim, one["untestable"]),), {"virtual": unreal, "real": real}
            )
    findings: list[Finding] = []
    for program, answer in real["programs"].items():
        findings += compared(program, answer, unreal["programs"][program])
    findings.append(same(NAME, "the leak check finds the same on the device", unreal["leak"], real["leak"]))
    findings += _latency(real["microseconds"])
    return Section(NAME, tuple(findings), {"virtual": unreal, "real": real})


def compared(program: str, real: dict[str, Any], unreal: dict[str, Any]) -> list[Finding]:
    """Compare a claim about one program with both runs."""
    agree = same(
        NAME,
        f"{program}: can be captured virtually exactly if it can be on the device",
        real["captured"],
        unreal["captured"],
        unreal.get("error") or real.get("error"),
    )
    if not real["captured"] or not unreal["captured"]:
        return [agree]
    if program in _RANDOM:
        return [agree, _draws(program, real)]
    return [
        agree,
        _close(f"{program}: a replay computes what an eager run does", real["eager"], real["replayed"]),
        _close(
            f"{program}: a virtual replay computes what a real one does", real["replayed"], unreal["replayed"]
        ),
    ]


def _draws(program: str, real: dict[str, Any]) -> Finding:
    drawn = real["replayed"], real["replayed again"]
    inside = all(0 <= value < 1 for values in drawn for value in values)
    return Finding(NAME, f"{program}: each replay draws anew", inside and drawn[0] != drawn[1])


def _close(claim: str, expected: list[float], found: list[float]) -> Finding:
    worst = max((abs(one - other) for one, other in zip(expected, found, strict=False)), default=0.0)
    holds = len(expected) == len(found) and not math.isnan(worst) and worst <= TOLERANCE
    return Finding(NAME, claim, holds, f"within {TOLERANCE}", worst)


def _latency(measured: dict[str, float]) -> list[Finding]:
    added = measured["manager without inputs"] - measured["graph alone"]
    return [
        Finding(
            NAME,
            "the manager adds little to a replay on the host",
            added <= OVERHEAD,
            f"at most {OVERHEAD} microseconds",
            round(added, 2),
        ),
        Finding(
            NAME,
            "a replay costs the host less than an eager run",
            measured["manager with inputs"] < measured["eager"],
            measured["eager"],
            measured["manager with inputs"],
            f"torch.cuda.make_graphed_callables: {measured['make_graphed_callables']} microseconds",
        ),
    ]
