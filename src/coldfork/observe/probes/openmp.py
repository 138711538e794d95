"""OpenMP: whether a parallel region has left a pool of worker threads behind.

No runtime has a question for it; the threads themselves are the answer. OpenBLAS keeps threads too, which
survive a fork by its own handlers and are not counted: they begin in OpenBLAS and not in an OpenMP library.
"""

from __future__ import annotations

from coldfork.observe.probes.pools import counted, doubt, owned
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess

ACCELERATOR = "openmp"
PREFIXES = ("libgomp", "libomp", "libiomp5")


def examine(process: ProbedProcess) -> Reading:
    """Awake while a thread exists that began in an OpenMP library."""
    library = process.library(*PREFIXES)
    if library is None:
        return Reading(ACCELERATOR, ABSENT)
    workers = owned(process, PREFIXES)
    if workers:
        why = f"{counted(len(workers))} of {workers[0].owner} wait for the next parallel region"
        return Reading(ACCELERATOR, AWAKE, reason=why, library=workers[0].library)
    return doubt(ACCELERATOR, process, library) or Reading(
        ACCELERATOR, COLD, reason="no worker threads of OpenMP are running", library=library
    )
