"""How many processes a device admits at a time.

In EXCLUSIVE_PROCESS mode, the second process that makes a context is refused, with "all CUDA-capable devices
are busy or unavailable". So a parent that has woken a device keeps its own workers out.

- **ok**: DEFAULT, which admits any number.
- **warn**: EXCLUSIVE_PROCESS.
- **fail**: PROHIBITED on every device.
- **skipped**: NVML does not report it.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_DEFAULT, _PROHIBITED = 0, 2
_NAMES = {0: "DEFAULT", 1: "EXCLUSIVE_THREAD", 2: "PROHIBITED", 3: "EXCLUSIVE_PROCESS"}
_REMEDY = "as root: nvidia-smi -c DEFAULT, where several processes are to share a device"


def examine(facts: Facts) -> Answer:
    """Judge the compute mode of each device."""
    modes = {one.index: one.compute_mode for one in facts.management.devices if one.compute_mode is not None}
    if not modes:
        return skipped("NVML lists no device here")
    unusual = [
        f"device {index} is {_NAMES.get(mode, mode)}" for index, mode in modes.items() if mode != _DEFAULT
    ]
    if not unusual:
        return ok("compute mode DEFAULT: a device admits several processes")
    if all(mode == _PROHIBITED for mode in modes.values()):
        return fail("every device is PROHIBITED to programs", _REMEDY)
    keep = "keep the process that only starts workers cold, so that the worker gets the device"
    return warn(f"{', '.join(unusual)}: it admits one process at a time, or none", keep, _REMEDY)
