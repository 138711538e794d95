"""AMD's ROCm and Intel's Level Zero, runtimes that initialise themselves before they answer a query.

Both `hipGetDeviceCount` and `zeInit` initialise the runtime. But whether the process has the device file open
that the initialisation opens can be seen without asking.
"""

from __future__ import annotations

from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, DRIVER, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess

PREFIXES = ("libamdhip64", "libhsa-runtime64")
KERNEL_DRIVERS = ("/dev/kfd", "/dev/dxg")
_LEVEL_ZERO_LOADER = ("libze_loader",)
_LEVEL_ZERO_DRIVER = ("libze_intel_gpu",)


def examine_rocm(process: ProbedProcess) -> Reading:
    """Return ROCm's state, which shows in whether the file of its kernel driver is open."""
    path = process.library(*PREFIXES)
    if path is None:
        return Reading("rocm", ABSENT)
    try:
        device = process.holds_open(*KERNEL_DRIVERS)
    except OSError:
        reason = "HIP cannot be asked without initialising it"
        return Reading("rocm", UNKNOWN, f"{reason}, and this process's open files cannot be seen", path)
    if device is None:
        return Reading(
            "rocm",
            COLD,
            f"the runtime is loaded, but holds neither {' nor '.join(KERNEL_DRIVERS)} open",
            path,
        )
    return Reading("rocm", AWAKE, f"the process holds {device} open", path, level=DRIVER, copied=True)


def examine_xpu(process: ProbedProcess) -> Reading:
    """Return the state of Intel GPUs, which shows in whether Level Zero's loader has loaded the driver."""
    driver = process.library(*_LEVEL_ZERO_DRIVER)
    if driver is not None:
        reason = "Level Zero has loaded its GPU driver and cannot be asked without initialising it"
        return Reading("xpu", UNKNOWN, reason, driver)
    loader = process.library(*_LEVEL_ZERO_LOADER)
    if loader is None:
        return Reading("xpu", ABSENT)
    return Reading("xpu", COLD, "Level Zero has not loaded its GPU driver", loader)
