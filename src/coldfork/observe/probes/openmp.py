"""OpenMP: whether a parallel region has left a pool of worker threads behind.

No runtime has a function that tells this, so its threads are counted. OpenBLAS has threads too, but these do
not count: its own handlers make them survive a fork, and they begin in OpenBLAS, not in an OpenMP library.
"""

from __future__ import annotations

from coldfork.observe.probes.pools import counted, examined
from coldfork.observe.probes.reading import AWAKE, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread

ACCELERATOR = "openmp"
PREFIXES = ("libgomp", "libomp", "libiomp5")


def examine(process: ProbedProcess) -> Reading:
    """Return awake if any thread began in an OpenMP library."""

    def seen(workers: tuple[NativeThread, ...], library: str) -> Reading:
        reason = f"{counted(len(workers))} of {workers[0].owner} wait for the next parallel region"
        return Reading(ACCELERATOR, AWAKE, reason, workers[0].library)

    return examined(ACCELERATOR, process, PREFIXES, seen, cold="no worker threads of OpenMP are running")
