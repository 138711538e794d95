"""Whether `torch.cuda.is_available()` leaves the driver cold: PYTORCH_NVML_BASED_CUDA_CHECK.

With `1` torch asks NVML, and the process can still fork workers that use the device. With anything else the
call alone initialises the driver, and `torch.cuda.is_initialized()` does not show it.

- **ok**: it is `1`, or it is not set; the message explains the effect.
- **warn**: it has a value that torch treats as no; or it is `1`, and NVML does not answer.
- **skipped**: no CUDA build of torch is installed, and it is not set.

It never fails: torch falls back to the driver.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_NAME = "PYTORCH_NVML_BASED_CUDA_CHECK"


def examine(facts: Facts) -> Answer:
    """Interpret the variable as torch does, which accepts only `1`."""
    value = facts.variables.get(_NAME)
    if value is None:
        if facts.torch is None or facts.torch.cuda is None:
            return skipped("no CUDA build of torch is installed")
        return ok(f"{_NAME} is not set: torch.cuda.is_available() wakes the driver; with 1 it would ask NVML")
    if value == "1":
        if facts.has_nvidia and (facts.management.nvml_error or facts.management.unanswered):
            return warn(
                f"{_NAME}=1, but NVML does not answer, so torch asks the driver", "coldfork doctor nvml"
            )
        return ok(f"{_NAME}=1: torch.cuda.is_available() asks NVML")
    if value in ("", "0"):
        return ok(f"{_NAME}={value}: torch.cuda.is_available() wakes the driver")
    return warn(f"{_NAME}={value}: torch treats any value but 1 as no", f"set {_NAME}=1")
