"""Whether NVML answers: NVIDIA's library that examines devices without waking them.

It is loaded in a short-lived process, as `nvidia-smi` does. Frameworks count devices with it if they can, so
that a parent stays cold; without it, counting wakes the driver.

- **ok**: it answers.
- **warn**: the driver is here and the library is not.
- **fail**: it is here and refuses, usually because its version differs from that of the kernel module.
- **skipped**: there is no NVIDIA driver.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_MISMATCH = 18
_NO_PERMISSION = 4


def examine(facts: Facts) -> Answer:
    """Judge NVML's answer."""
    asked = facts.management
    if asked.unanswered:
        return fail(f"NVML gave no answer: {asked.unanswered}", "look for NVRM and Xid in dmesg")
    if not facts.has_nvidia:
        return skipped("there is no NVIDIA driver here")
    if not asked.nvml_loaded:
        return warn(
            f"libnvidia-ml.so.1 cannot be loaded, so counting devices wakes them: {asked.nvml_error}",
            "in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility brings it in",
        )
    if asked.nvml_error is not None:
        return fail(f"NVML refuses: {asked.nvml_error}", *_remedies(asked.nvml_code))
    return ok(f"NVML answers for {len(asked.devices)} device{'' if len(asked.devices) == 1 else 's'}")


def _remedies(code: int | None) -> tuple[str, ...]:
    if code == _MISMATCH:
        return (
            "the driver was updated, but the old one still runs: reboot, or reload its kernel modules",
            "in a container: its driver libraries must be the host's; do not install them in the image",
        )
    if code == _NO_PERMISSION:
        return ("coldfork doctor device-files says which device files are closed to this user",)
    return ("look for NVRM and Xid in dmesg",)
