"""Claims on decisions: the right method at every stage of the driver, working where a plain fork does not."""

from __future__ import annotations

from typing import Any

from hardware.children import Bench
from hardware.claims import Finding, Section, same, untestable

NAME = "start"
_NOT_INITIALISED = 3

#: For each stage: the state, the method, what speaks against a fork, the state in a plainly forked child, and
#: what cuInit returns there.
TABLE: dict[str, tuple[list[str | None], str, list[str], list[str | None], int]] = {
    "nothing": (["absent", None], "fork", [], ["absent", None], 0),
    "loaded": (["cold", None], "fork", [], ["cold", None], 0),
    "driver": (["awake", "driver"], "spawn", ["cuda-awake"], ["poisoned", None], _NOT_INITIALISED),
    "context": (["awake", "context"], "spawn", ["cuda-awake"], ["poisoned", None], _NOT_INITIALISED),
}


def start(bench: Bench) -> Section:
    """Every row of the table."""
    answers = bench.run("start_decisions", bench.driver)
    if "untestable" in answers:
        claim = "coldfork chooses a start method that works"
        return Section(NAME, (untestable(NAME, claim, answers["untestable"]),), answers)
    findings = [finding for stage in TABLE for finding in _row(stage, answers[stage])]
    return Section(NAME, tuple(findings), answers)


def _row(stage: str, found: dict[str, Any]) -> list[Finding]:
    state, method, against, in_child, code = TABLE[stage]
    child = found["plain fork"]
    where = f"with the driver at the stage '{stage}'"
    return [
        same(NAME, f"{where} the state is told", state, found["state"]),
        same(NAME, f"{where} the method is {method}", method, found["method"]),
        same(NAME, f"{where} the reasons against a fork are named", against, found["against fork"]),
        same(NAME, f"{where} cuInit works in a process that coldfork starts", 0, found["cuInit in ours"]),
        same(NAME, f"{where} cuInit returns {code} in a child forked plainly", code, child["cuInit"]),
        same(NAME, f"{where} that child knows its state", in_child, child["decided"]["state"]),
    ]
