"""Whether the variables that hide AMD's devices contradict each other.

ROCR_VISIBLE_DEVICES hides devices from the runtime, and HIP_VISIBLE_DEVICES counts among those that are left.
PyTorch for ROCm also obeys CUDA_VISIBLE_DEVICES, and programs disagree on which of them comes first.

- **ok**: one of them is set, or they agree.
- **warn**: they differ, or HIP_VISIBLE_DEVICES counts among the devices that ROCR_VISIBLE_DEVICES left.
- **skipped**: none is set.

It never fails: each of them may be intended.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_HIP, _ROCR, _CUDA = "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
_REMEDY = "set only one of them: HIP_VISIBLE_DEVICES"


def examine(facts: Facts) -> Answer:
    """Compare the three variables that hide AMD's devices."""
    given = {name: facts.variables[name] for name in (_HIP, _ROCR, _CUDA) if name in facts.variables}
    if _HIP not in given and _ROCR not in given:
        return skipped("neither HIP_VISIBLE_DEVICES nor ROCR_VISIBLE_DEVICES is set")
    said = ", ".join(f"{name}={value}" for name, value in given.items())
    if len(set(given.values())) > 1:
        return warn(f"{said}: they differ, and which one applies depends on the program", _REMEDY)
    if _HIP in given and _ROCR in given and given[_ROCR] not in ("0", ""):
        return warn(f"{said}: one selects among the devices that the other leaves", _REMEDY)
    return ok(said)
