"""OpenCL, which would initialise every installed vendor's driver before answering a query.

Its loader opens those drivers at the first query. But whether one of them is in memory and has started
threads can be seen without a query.
"""

from __future__ import annotations

from coldfork.observe.probes.pools import counted, doubt, owned
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, DRIVER, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess

ACCELERATOR = "opencl"
LOADER = ("libOpenCL",)
POCL = ("libpocl",)
DRIVERS = (
    *POCL, "libnvidia-opencl", "libamdocl", "libigdrcl", "libintelocl", "libMesaOpenCL", "libRusticlOpenCL",
    "libmali", "libclvk",
)  # fmt: skip
DEVICES_VARIABLE = "POCL_DEVICES"


def examine(process: ProbedProcess) -> Reading:
    """Return awake if a vendor's driver has threads, or else the state that this driver suggests."""
    driver = process.library(*DRIVERS)
    loader = process.library(*LOADER)
    if driver is None and loader is None:
        return Reading(ACCELERATOR, ABSENT)
    if driver is None:
        return Reading(ACCELERATOR, COLD, "no vendor's driver has been opened", loader)
    threads = owned(process, DRIVERS)
    if threads:
        reason = f"{counted(len(threads))} of {threads[0].owner} are running"
        return Reading(ACCELERATOR, AWAKE, reason, threads[0].library, level=DRIVER)
    return doubt(ACCELERATOR, process, driver) or _without_threads(process, driver)


def _without_threads(process: ProbedProcess, driver: str) -> Reading:
    name = driver.rpartition("/")[2]
    others = process.library(*(prefix for prefix in DRIVERS if prefix not in POCL))
    if others is not None or not name.startswith(POCL):
        other = (others or driver).rpartition("/")[2]
        reason = f"{other} is loaded and cannot be asked without initialising it"
        return Reading(ACCELERATOR, UNKNOWN, reason, others or driver)
    if process.setting(DEVICES_VARIABLE) is not None:
        asked = f"{DEVICES_VARIABLE} may have asked for devices that have none"
        return Reading(ACCELERATOR, UNKNOWN, f"{name} is loaded without threads, and {asked}", driver)
    return Reading(
        ACCELERATOR, COLD, f"{name} is loaded, and has not started the threads of its devices", driver
    )
