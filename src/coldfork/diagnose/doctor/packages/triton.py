"""Whether Triton is the release that torch was built with.

A build of torch for a GPU asks for one release of Triton, with which it compiles.

- **ok**: that release is installed.
- **warn**: none is installed beside a torch for a GPU, so that `torch.compile` cannot make kernels.
- **fail**: another release is installed.
- **skipped**: neither it nor a torch for a GPU is installed.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.packages.fit import requirement
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_NAMES = ("triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu", "triton-windows")


def examine(facts: Facts) -> Answer:
    """Compare the release of Triton that torch requires with the installed one."""
    torch = facts.torch
    found = facts.packages.first(*_NAMES)
    for_device = torch is not None and (torch.cuda is not None or bool(torch.others))
    if found is None:
        if torch is None or not for_device:
            return skipped("Triton is not installed, and no GPU build of torch needs it")
        return warn(
            f"torch {torch.version} is a build for {torch.built_for}, but Triton is not installed",
            "install the release that torch asks for: pip install --force-reinstall torch brings it",
        )
    version = facts.packages.version(found)
    trouble = next(requirement("torch", found, facts), None)
    if trouble is not None:
        return fail(
            f"torch {trouble}",
            "install the release that torch asks for; other releases compile wrongly or not at all",
        )
    return ok(f"Triton {version}")
