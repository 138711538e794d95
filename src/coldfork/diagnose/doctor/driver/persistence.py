"""Whether the driver stays loaded when no process uses a device.

Without persistence, the first process on a device waits until the driver has initialised it, for seconds on
large machines, and the device's settings are lost when the last process ends.

- **ok**: it is on, by the mode or by NVIDIA's daemon.
- **warn**: it is off on a device.
- **skipped**: NVML does not report it.

It never fails: everything works without it.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_DAEMON = "/run/nvidia-persistenced/socket"


def examine(facts: Facts) -> Answer:
    """Judge the persistence mode of each device."""
    known = [device for device in facts.management.devices if device.persistence is not None]
    if not known:
        return skipped("NVML does not report persistence")
    off = [str(device.index) for device in known if not device.persistence]
    if not off or facts.files.exists(_DAEMON):
        return ok("the driver stays loaded")
    noun = "device" if len(off) == 1 else "devices"
    return warn(
        f"persistence is off on {noun} {', '.join(off)}: the first process has to wait for the "
        "driver to load",
        "as root: start nvidia-persistenced, or nvidia-smi -pm 1",
    )
