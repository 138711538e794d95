"""polars: whether a query has started the engine's thread pool."""

from __future__ import annotations

from coldfork.observe.probes.pools import counted, examined
from coldfork.observe.probes.reading import AWAKE, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread

ACCELERATOR = "polars"
PREFIXES = ("_polars_runtime", "polars.abi3", "polars.cpython")
# Threads that the import starts: the allocator's, and one that removes spilled files. A fork does not harm
# them.
_HOUSEKEEPING = ("jemalloc_bg_thd", "polars-ooc-clea")
# Names of threads, which the kernel cuts to 15 characters.
_WORKERS = ("tokio-rt-worker", "async-executor", "async_executor")


def examine(process: ProbedProcess) -> Reading:
    """Return awake if the query engine has threads; threads that the import starts do not count."""
    return examined(ACCELERATOR, process, PREFIXES, _seen, cold="its query engine runs no threads")


def _seen(threads: tuple[NativeThread, ...], library: str) -> Reading | None:
    workers = [thread for thread in threads if _works(thread.name)]
    if workers:
        return Reading(ACCELERATOR, AWAKE, f"its engine runs {counted(len(workers))}", library)
    strange = sorted({thread.name for thread in threads}.difference(_HOUSEKEEPING))
    if strange:
        return Reading(
            ACCELERATOR, UNKNOWN, f"it runs threads with unfamiliar names: {', '.join(strange[:5])}", library
        )
    return None


def _works(name: str) -> bool:
    """Return whether a thread with this name is the engine's: `polars-0`, `polars-1`, ... are its pool."""
    stem, _, number = name.rpartition("-")
    return name.startswith(_WORKERS) or (stem == "polars" and number.isdigit())
