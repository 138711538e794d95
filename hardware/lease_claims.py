"""Claims on leases: CUDA shows exactly what was leased, and a kill gives it back."""

from __future__ import annotations

from hardware.children import Bench
from hardware.claims import Section, same, untestable

NAME = "leases"


def lease(bench: Bench) -> Section:
    """Every way in which a caller may name its devices, and both ends of a lease."""
    answers = bench.run("leased_devices", bench.driver)
    if "untestable" in answers:
        claim = "CUDA shows a process exactly the device that was leased"
        return Section(NAME, (untestable(NAME, claim, answers["untestable"]),), answers)
    again = answers["again"]
    findings = [
        same(
            NAME,
            f"CUDA shows a process exactly the device that was leased, named {way}",
            [True, True],
            [found["alike"], found["name"].startswith("GPU-")],
        )
        for way, found in answers.items()
        if way != "again"
    ]
    findings += [same(NAME, f"a device is {what}", True, holds) for what, holds in again.items()]
    return Section(NAME, tuple(findings), answers)
