"""Whether the numbers of devices mean the same to CUDA, to NVML and to `nvidia-smi`.

CUDA numbers the fastest device first, but NVML and `nvidia-smi` number devices by their place on the bus. So
if a machine has different models, device 0 may be one device for `nvidia-smi` and another for the program,
unless CUDA_DEVICE_ORDER=PCI_BUS_ID.

- **ok**: PCI_BUS_ID, or all devices are of one model.
- **warn**: several models, and the order is left to CUDA; or a value that means nothing.
- **skipped**: fewer than two devices are known, and the variable is not set.

It never fails, because the order harms only programs that rely on a different one.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_NAME = "CUDA_DEVICE_ORDER"
_REMEDY = f"set {_NAME}=PCI_BUS_ID in every process that names devices by number"


def examine(facts: Facts) -> Answer:
    """Compare the models of the devices: their order matters only if the models differ."""
    value = facts.variables.get(_NAME)
    if value == "PCI_BUS_ID":
        return ok(f"{_NAME}=PCI_BUS_ID: CUDA numbers devices like nvidia-smi")
    if value not in (None, "FASTEST_FIRST"):
        return warn(f"CUDA does not know {_NAME}={value}", _REMEDY)
    models = {device.name for device in facts.management.devices}
    if len(facts.management.devices) < 2:
        return skipped("with fewer than two devices, the order does not matter")
    if len(models) == 1:
        return ok("all devices are of one model, so CUDA numbers them like nvidia-smi")
    return warn(f"{len(models)} models of devices: CUDA and nvidia-smi number them differently", _REMEDY)
