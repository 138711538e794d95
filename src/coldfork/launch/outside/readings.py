"""Read the state of each accelerator in one process, from outside and without considering its parent."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from coldfork.launch.outside.process import OutsideProcess
from coldfork.model.errors import UsageError
from coldfork.observe import bootstrap
from coldfork.observe.probes import cuda_driver, hip, jax, opencl, openmp, polars, tokenizers
from coldfork.observe.probes.examination import ORDER
from coldfork.observe.probes.pools import counted, doubt, owned
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, UNKNOWN, Reading
from coldfork.virtual import profiles

CUDA_FILES = ("/dev/nvidia-uvm",)
"""Files that are opened when CUDA is initialised, and stay open; managing devices or drawing does not open
them.
"""
# The path at which `coldfork.virtual.compiling` keeps the driver of a virtual device.
_VIRTUAL_DRIVER = re.compile(r"/virtual/[0-9a-f]+/libcuda\.so\.1\Z")
# Tegra and WSL have no device file of CUDA's own: CUDA opens these, but so do other programs.
_SHARED_FILES = ("/dev/nvmap", "/dev/dxg")
_MANAGED_FILES = ("/dev/nvidiactl", "/dev/nvidia0")
DEVICE_FILES = {"cuda": CUDA_FILES, "rocm": hip.KERNEL_DRIVERS}
"""The files that show that an accelerator's driver is initialised."""
LIBRARIES = {
    "openmp": openmp.PREFIXES,
    "polars": polars.PREFIXES,
    "tokenizers": tokenizers.PREFIXES,
    "opencl": opencl.DRIVERS,
    "jax": jax.LIBRARIES,
    "jax-cpu": jax.LIBRARIES,
}
"""The libraries whose threads show that a runtime is awake."""


def readings(process: OutsideProcess) -> dict[str, Reading]:
    """Return one reading for each accelerator, in a fixed order."""
    if not process.shows_libraries:
        reason = process.hidden or "the system shows no memory map of it"
        return {accelerator: Reading(accelerator, UNKNOWN, reason=reason) for accelerator in ORDER}
    virtual = _virtual_accelerator(process)
    found = {accelerator: _EXAMINE[accelerator](process) for accelerator in ORDER}
    if virtual is not None:
        reason = "coldfork's virtual device opens no file, so its state shows only inside the process"
        found[virtual] = found[virtual].turned(UNKNOWN, reason)
    return found


def _virtual_accelerator(process: OutsideProcess) -> str | None:
    """Return the accelerator that a virtual device imitates in this process; None if there is none."""
    if _VIRTUAL_DRIVER.search(process.library(cuda_driver.FILE_PREFIX) or ""):
        return "cuda"
    wanted = process.setting(bootstrap.VIRTUAL)
    if not wanted:
        return None
    try:
        return profiles.PROFILES[profiles.parse(wanted)[0]].accelerator
    except UsageError:
        return None


def _cuda(process: OutsideProcess) -> Reading:
    """Read CUDA's state from the device file that its driver opens on initialisation and keeps open."""
    library = process.library(cuda_driver.FILE_PREFIX)
    if library is None:
        return Reading("cuda", ABSENT)
    try:
        device = process.holds_open(*CUDA_FILES)
        shared = process.holds_open(*_SHARED_FILES)
        managed = process.holds_open(*_MANAGED_FILES)
    except OSError:
        return Reading("cuda", UNKNOWN, reason="this user may not see its open files", library=library)
    if device is not None:
        return Reading("cuda", AWAKE, reason=f"it holds {device} open", library=library, copied=True)
    if shared is not None:
        reason = f"it holds {shared} open, as after initialising CUDA, but other programs open it too"
        return Reading("cuda", UNKNOWN, reason=reason, library=library)
    if managed is not None and process.library("libnvidia-ml.so") is None:
        reason = (
            f"it holds {managed} open but not {CUDA_FILES[0]}, and has no library that only manages devices"
        )
        return Reading("cuda", UNKNOWN, reason=reason, library=library)
    return Reading(
        "cuda",
        COLD,
        reason=f"the driver's library is loaded, but {CUDA_FILES[0]} is not open",
        library=library,
    )


def _opencl(process: OutsideProcess) -> Reading:
    """Read OpenCL's state from a vendor driver's threads; without any, the driver may still be in use."""
    seen = opencl.examine(process)
    driver = process.library(*opencl.DRIVERS)
    if seen.status != COLD or driver is None:
        return seen
    name = driver.rpartition("/")[2]
    return seen.turned(
        UNKNOWN,
        f"{name} is loaded without threads; which devices it was asked for shows only inside the process",
    )


def _tokenizers(process: OutsideProcess) -> Reading:
    """Read the state of tokenizers' pool; how a fork affects it depends on a variable that is hidden from
    outside.
    """
    seen = tokenizers.examine(process)
    if seen.status != AWAKE:
        return seen
    threads = owned(process, tokenizers.PREFIXES) or ()
    return Reading(
        seen.accelerator, AWAKE, reason=f"its pool runs {counted(len(threads))}", library=seen.library
    )


def _jax(accelerator: str, process: OutsideProcess) -> Reading:
    """Read JAX's state from the threads of its clients; which device a client uses cannot be seen from
    outside.
    """
    library = process.library(*jax.LIBRARIES)
    if library is None:
        return Reading(accelerator, ABSENT)
    threads = owned(process, jax.LIBRARIES)
    if threads:
        reason = (
            f"{counted(len(threads))} of {threads[0].owner} run; for which devices shows only inside the "
            "process"
        )
        return Reading(accelerator, UNKNOWN, reason=reason, library=library)
    return doubt(accelerator, process, library) or Reading(
        accelerator, COLD, reason="none of its library's threads are running", library=library
    )


_EXAMINE: dict[str, Callable[[OutsideProcess], Reading]] = {
    "cuda": _cuda,
    "rocm": hip.examine_rocm,
    "xpu": hip.examine_xpu,
    "opencl": _opencl,
    "openmp": openmp.examine,
    "polars": polars.examine,
    "tokenizers": _tokenizers,
    "jax": partial(_jax, "jax"),
    "jax-cpu": partial(_jax, "jax-cpu"),
}
