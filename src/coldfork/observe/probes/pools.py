"""Pools of threads that libraries keep, and what shows in them: OpenMP, polars, tokenizers, OpenCL.

They are what a forked child loses and goes on waiting for.
"""

from __future__ import annotations

from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, DRIVER, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread

_OPENMP = ("libgomp", "libomp", "libiomp5")
_POLARS = ("_polars_runtime", "polars.abi3", "polars.cpython")
_TOKENIZERS = ("tokenizers.abi3", "tokenizers.cpython")
PARALLELISM = "TOKENIZERS_PARALLELISM"
# The values that mean no: src/utils/parallelism.rs of tokenizers.
_OFF = frozenset({"", "off", "false", "f", "no", "n", "0"})
# Started by the import of polars itself: the allocator's, and the one that removes spilled files. A fork does
# them no harm.
_HOUSEKEEPING = ("jemalloc_bg_thd", "polars-ooc-clea")
# The kernel cuts names to 15 characters.
_WORKERS = ("tokio-rt-worker", "async-executor", "async_executor")
_OPENCL_LOADER = ("libOpenCL",)
_POCL = ("libpocl",)
_OPENCL_DRIVERS = (
    *_POCL,
    "libnvidia-opencl",
    "libamdocl",
    "libigdrcl",
    "libintelocl",
    "libMesaOpenCL",
    "libRusticlOpenCL",
    "libmali",
    "libclvk",
)
POCL_DEVICES = "POCL_DEVICES"


def examine_openmp(process: ProbedProcess) -> Reading:
    """OpenMP: awake while a parallel region has left threads behind that began in a library of it.

    No runtime has a question for it; the threads themselves are the answer. OpenBLAS keeps threads too, which
    survive a fork by its own handlers and are not counted: they begin in OpenBLAS, not in an OpenMP library.
    """
    return examined(
        "openmp",
        process,
        _OPENMP,
        lambda workers, _: Reading(
            "openmp",
            AWAKE,
            reason=f"{counted(len(workers))} of {workers[0].owner} wait for the next parallel region",
            library=workers[0].library,
        ),
        cold="no worker threads of OpenMP are running",
    )


def examine_polars(process: ProbedProcess) -> Reading:
    """polars: awake while a thread of the query engine exists; those that the import starts say nothing."""
    return examined("polars", process, _POLARS, _of_engine, cold="its query engine runs no threads")


def _of_engine(threads: tuple[NativeThread, ...], library: str) -> Reading | None:
    workers = [thread for thread in threads if _works(thread.name)]
    if workers:
        return Reading("polars", AWAKE, reason=f"its engine runs {counted(len(workers))}", library=library)
    strange = sorted({thread.name for thread in threads}.difference(_HOUSEKEEPING))
    if strange:
        return Reading(
            "polars",
            UNKNOWN,
            reason=f"it runs threads of an unfamiliar name: {', '.join(strange[:5])}",
            library=library,
        )
    return None


def _works(name: str) -> bool:
    """Whether a thread of this name belongs to the engine: `polars-0`, `polars-1`, ... are its pool."""
    stem, _, number = name.rpartition("-")
    return name.startswith(_WORKERS) or (stem == "polars" and number.isdigit())


def examine_tokenizers(process: ProbedProcess) -> Reading:
    """Hugging Face's tokenizers: awake while the pool exists that encoding a batch in parallel starts."""
    return examined(
        "tokenizers",
        process,
        _TOKENIZERS,
        lambda workers, library: Reading(
            "tokenizers",
            AWAKE,
            reason=f"its pool runs {counted(len(workers))}; {_after_a_fork(process)}",
            library=library,
            survives_fork=survives_fork(process),
        ),
        cold="nothing was encoded in parallel",
    )


def survives_fork(process: ProbedProcess) -> bool:
    """Whether a forked child goes on without the pool: unless the variable asks for it."""
    setting = process.setting(PARALLELISM)
    return setting is None or setting.lower() in _OFF


def _after_a_fork(process: ProbedProcess) -> str:
    setting = process.setting(PARALLELISM)
    if setting is None:
        return f"{PARALLELISM} is not set, so its own handler makes a forked child go on without it"
    if survives_fork(process):
        return f"{PARALLELISM}={setting} makes a forked child go on without it"
    return f"{PARALLELISM} is set, so a forked child waits for it in vain"


def examine_opencl(process: ProbedProcess) -> Reading:
    """OpenCL: awake while a vendor's driver has threads; without threads, what is known of that driver.

    It answers no question without initialising every vendor's driver that is installed. Its loader opens
    those drivers at the first question. Whether one of them is in memory, and whether it has started threads,
    can be seen without asking.
    """
    driver = process.library(*_OPENCL_DRIVERS)
    loader = process.library(*_OPENCL_LOADER)
    if driver is None and loader is None:
        return Reading("opencl", ABSENT)
    if driver is None:
        return Reading("opencl", COLD, reason="no vendor's driver has been opened", library=loader)
    threads = owned(process, _OPENCL_DRIVERS)
    if threads:
        return Reading(
            "opencl",
            AWAKE,
            level=DRIVER,
            reason=f"{counted(len(threads))} of {threads[0].owner} are running",
            library=threads[0].library,
        )
    return doubt("opencl", process, driver) or _opencl_without_threads(process, driver)


def _opencl_without_threads(process: ProbedProcess, driver: str) -> Reading:
    name = driver.rpartition("/")[2]
    others = process.library(*(prefix for prefix in _OPENCL_DRIVERS if prefix not in _POCL))
    if others is not None or not name.startswith(_POCL):
        other = (others or driver).rpartition("/")[2]
        return Reading(
            "opencl",
            UNKNOWN,
            reason=f"{other} is loaded and answers nothing without initialising itself",
            library=others or driver,
        )
    if process.setting(POCL_DEVICES) is not None:
        return Reading(
            "opencl",
            UNKNOWN,
            reason=f"{name} is loaded without threads, "
            f"and {POCL_DEVICES} may have asked for devices that have none",
            library=driver,
        )
    return Reading(
        "opencl",
        COLD,
        reason=f"{name} is loaded, and has not started the threads of its devices",
        library=driver,
    )


def examined(
    accelerator: str,
    process: ProbedProcess,
    prefixes: tuple[str, ...],
    seen: Callable[[tuple[NativeThread, ...], str], Reading | None],
    cold: str,
) -> Reading:
    """A library by its threads: `seen` says what they are a sign of, `cold` what it is without any."""
    library = process.library(*prefixes)
    if library is None:
        return Reading(accelerator, ABSENT)
    threads = owned(process, prefixes)
    reading = seen(threads, library) if threads else None
    return (
        reading
        or doubt(accelerator, process, library)
        or Reading(accelerator, COLD, reason=cold, library=library)
    )


def owned(process: ProbedProcess, prefixes: tuple[str, ...]) -> tuple[NativeThread, ...] | None:
    """The threads that began in a library of such a name; None where threads cannot be read."""
    threads = process.threads
    if threads is None:
        return None
    return tuple(thread for thread in threads if thread.owner.startswith(prefixes))


def doubt(accelerator: str, process: ProbedProcess, library: str) -> Reading | None:
    """Why it cannot be said that a library has no threads, if it cannot."""
    threads = process.threads
    if threads is None:
        return Reading(
            accelerator,
            UNKNOWN,
            reason="the threads of a process cannot be read on this system",
            library=library,
        )
    lost = [thread for thread in threads if thread.library is None]
    if not lost:
        return None
    names = ", ".join(sorted({thread.name for thread in lost})[:5])
    return Reading(
        accelerator,
        UNKNOWN,
        reason=f"{counted(len(lost))} could not be traced to a library: {names}",
        library=library,
    )


def counted(number: int) -> str:
    """A number of threads in words."""
    return "1 native thread" if number == 1 else f"{number} native threads"
