"""Whether devices are divided into instances (MIG), and whether programs can use these.

- **ok**: no device is divided, or those that are have instances.
- **warn**: a change of the mode waits for a reset; or several instances are here, and nothing chooses one:
  CUDA shows each process only the first.
- **fail**: a device is divided but has no instance, so CUDA finds no device.
- **skipped**: NVML does not report it.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.launch.devices.management import Device
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn


def examine(facts: Facts) -> Answer:
    """Judge the division of each device into instances."""
    known = [device for device in facts.management.devices if device.mig is not None]
    if not known:
        return skipped("NVML lists no device that could be divided")
    divided = [device for device in known if device.mig]
    instances = sum(device.mig_devices or 0 for device in divided)
    well = f"{instances} instances on {len(divided)} divided devices" if divided else "no device is divided"
    troubles = [trouble for device in known for trouble in _troubles(device)]
    if instances > 1 and "CUDA_VISIBLE_DEVICES" not in facts.variables:
        troubles.append(
            warn(
                f"{instances} instances, and CUDA_VISIBLE_DEVICES is not set: each process sees one alone",
                "give each process its own: CUDA_VISIBLE_DEVICES=MIG-..., as nvidia-smi -L lists them",
            )
        )
    return together(troubles, ok(well))


def _troubles(device: Device) -> Iterator[Answer]:
    if device.mig_pending is not None and device.mig_pending != device.mig:
        way = "on" if device.mig_pending else "off"
        yield warn(
            f"device {device.index}: MIG is to be switched {way} at the next reset",
            "as root, when nobody uses the device: nvidia-smi --gpu-reset",
        )
    if device.mig and device.mig_devices == 0:
        yield fail(
            f"device {device.index} is divided but has no instance, so CUDA finds no device",
            "as root: nvidia-smi mig -cgi PROFILE -C makes one; nvidia-smi -mig 0 undivides the device",
        )
