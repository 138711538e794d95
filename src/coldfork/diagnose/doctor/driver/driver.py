"""Whether NVIDIA's driver is here, and which CUDA it serves.

The kernel module's version is read from `/proc/driver/nvidia/version`. The user-space library,
`libcuda.so.1`, is asked in a short-lived process by `cuDriverGetVersion`, which does not initialise it.

- **ok**: both are here.
- **fail**: one is here without the other, or the driver does not answer.
- **skipped**: there is no NVIDIA driver; AMD's and Intel's are named if they are there.

It never warns.
"""

from __future__ import annotations

import re

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.launch.devices.management import cuda_name
from coldfork.model.diagnosis import Answer, fail, ok, skipped

_MODULE = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")


def examine(facts: Facts) -> Answer:
    """Compare the versions of the driver's kernel module and its user-space library."""
    asked = facts.management
    if asked.unanswered:
        return fail(asked.unanswered, "look for NVRM and Xid in dmesg; a reboot reloads the driver")
    if not facts.has_nvidia:
        return skipped(f"there is no NVIDIA driver here{_others(facts)}")
    if not asked.libcuda_loaded:
        return fail(
            f"the kernel has NVIDIA's driver{_kernel(facts)}, but libcuda.so.1 cannot be loaded: "
            f"{asked.libcuda_error}",
            "in a container: start it with the NVIDIA runtime (docker run --gpus all)",
            "elsewhere: install the libraries of the same driver version, and run ldconfig",
        )
    if not facts.has_kernel_module:
        return fail(
            "libcuda.so.1 is installed, but the kernel has not loaded NVIDIA's driver",
            "load it with `modprobe nvidia`, or reboot after an update of the driver or the kernel",
        )
    if asked.cuda_version is None:
        return fail(
            f"libcuda.so.1 does not say which CUDA it serves: {asked.libcuda_error}",
            "a stub of the CUDA toolkit may be found before the driver: check LD_LIBRARY_PATH",
        )
    version = f" {asked.driver}" if asked.driver else _kernel(facts)
    devices = f", {_counted(facts)}" if asked.devices else ""
    names = (f"{device.index}: {device.name} {device.uuid}".rstrip() for device in asked.devices)
    return ok(
        f"NVIDIA driver{version}, for programs up to CUDA {cuda_name(asked.cuda_version)}{devices}", *names
    )


def _kernel(facts: Facts) -> str:
    found = _MODULE.search(facts.files.text("/proc/driver/nvidia/version") or "")
    return f" {found[1]}" if found else ""


def _counted(facts: Facts) -> str:
    names = [device.name for device in facts.management.devices]
    same = len(set(names)) == 1
    return f"{len(names)} x {names[0]}" if same else f"{len(names)} devices"


def _others(facts: Facts) -> str:
    there = [
        name
        for file, name in (("/dev/kfd", "AMD's"), ("/sys/module/xe", "Intel's"))
        if facts.files.exists(file)
    ]
    return f"; {' and '.join(there)} is" if there else ""
