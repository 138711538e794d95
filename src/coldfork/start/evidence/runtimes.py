"""Evidence in the runtimes of this process: what a forked child would be handed and could not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import Reason, Weight
from coldfork.observe.probes.reading import AWAKE, CONTEXT, POISONED, UNKNOWN

if TYPE_CHECKING:
    from coldfork.model.states import Waker
    from coldfork.observe.probes.reading import Reading
    from coldfork.observe.probes.threads import NativeThread
    from coldfork.start.surroundings import Surroundings

DEVICES = ("cuda", "rocm", "xpu", "opencl", "jax", "jax-cpu", "polars")
"""The runtimes that no forked child of an awake process can use, whatever the circumstances."""

_SPAWN = "start the process with spawn: it begins without any of this"
_LATER = "wake the device only in the processes that use it, after they have been started"
_FRESH = "fork from a fresh thread: it has no pool, and the child neither"
_PAUSE = "have libgomp give its pool back before the fork: omp_pause_resource_all(omp_pause_hard)"

_TOKENIZERS = "TOKENIZERS_PARALLELISM"
# The values for which the library goes without threads: src/utils/parallelism.rs of tokenizers.
_OFF = frozenset({"", "off", "false", "f", "no", "n", "0"})

_GNU = "libgomp"
# They make themselves anew in a forked child, by handlers of their own.
_INTEL = ("libiomp5", "libomp")

# Owners of threads that a fork does no harm: by handlers of their own, or because the child starts others.
_HARMLESS = (
    "libopenblas",
    "libscipy_openblas",
    "libflexiblas",
    "libarrow",
    "cygrpc",
    "libzmq",
    "workqueue.",  # numba's own pool, which it starts anew in a child
    *_INTEL,
)
# PyTorch gives up its pool for mobile kernels in a forked child; it has one as soon as it is told how many
# threads it may have. It gives no name to them, and one to all others.
_TORCH = "libtorch_cpu"
_OTHERS_OF_TORCH = ("pt_", "Caffe")
# Owners that have evidence of their own.
_KNOWN = (
    _GNU,
    "libcuda.so",
    "libamdhip64",
    "libhsa-runtime64",
    "libze_",
    "libOpenCL",
    "libpocl",
    "libnvidia-opencl",
    "libamdocl",
    "libigdrcl",
    "libintelocl",
    "libjax_common",
    "xla_extension",
    "xla_cuda",
    "xla_rocm",
    "libtpu",
    "_jax.",
    "_polars_runtime",
    "polars.",
    "tokenizers.",
)


def device(accelerator: str, surroundings: Surroundings) -> Reason | None:
    """A runtime that is awake here, or was in the process this one was forked from."""
    reading = surroundings.readings.get(accelerator)
    if reading is None or reading.status not in (AWAKE, POISONED, UNKNOWN):
        return None
    waker = surroundings.waker(accelerator)
    if reading.status == UNKNOWN:
        return _doubt(reading)
    if reading.status == POISONED:
        text = f"{accelerator} is poisoned here{_by(waker)}: {reading.reason}"
    else:
        depth = f" (level {reading.level})" if reading.level else ""
        text = f"{accelerator} is awake here{depth}{_by(waker)}{_detail(reading)}"
    return Reason(
        code=f"{accelerator}-{reading.status}",
        text=text,
        accelerator=accelerator,
        waker=waker,
        remedies=(_SPAWN,) if accelerator in ("jax-cpu", "polars") else (_SPAWN, _LATER),
        evidence=_seen(reading),
    )


def tokenizers_pool(surroundings: Surroundings) -> Reason | None:
    """The pool of tokenizers, unless its own handler makes a forked child go on without it."""
    reading = surroundings.readings.get("tokenizers")
    if reading is None or reading.status not in (AWAKE, POISONED, UNKNOWN):
        return None
    if reading.status == UNKNOWN:
        return _doubt(reading)
    setting = surroundings.setting(_TOKENIZERS)
    if setting is None or setting.lower() in _OFF:
        return None
    return Reason(
        code="tokenizers-pool",
        text=f"tokenizers has encoded in parallel and {_TOKENIZERS}={setting} keeps a forked child at it",
        accelerator="tokenizers",
        waker=surroundings.waker("tokenizers"),
        remedies=(f"set {_TOKENIZERS}=false before the fork, or do not set it", _SPAWN),
        evidence=(*_seen(reading), (_TOKENIZERS, setting)),
    )


def openmp_pool(surroundings: Surroundings) -> Reason | None:
    """A pool of libgomp that belongs to the forking thread, or may belong to it."""
    workers = [thread for thread in surroundings.threads or () if thread.owner.startswith(_GNU)]
    if not workers:
        return None
    whose = [surroundings.mine(worker) for worker in workers]
    waker = surroundings.waker("openmp")
    library = workers[0].library or _GNU
    evidence = (
        ("library", library),
        ("workers", str(len(workers))),
        ("workers of this thread", str(whose.count(True))),
    )
    if any(whose):
        return Reason(
            "openmp-pool-of-this-thread",
            f"this thread has run OpenMP regions of {workers[0].owner}{_by(waker)}, "
            "whose pool a forked child would wait for in vain",
            "fork",
            Weight.HARM,
            "openmp",
            waker,
            (_FRESH, _PAUSE, _SPAWN),
            evidence,
        )
    if None in whose:
        return Reason(
            "openmp-pool-of-unknown-thread",
            f"{workers[0].owner} has a pool of threads, and it cannot be told that it is not the forking "
            "thread's",
            "fork",
            Weight.DOUBT,
            "openmp",
            waker,
            (_SPAWN,),
            evidence,
        )
    return None


def openmp_unreadable(surroundings: Surroundings) -> Reason | None:
    """OpenMP, where its state cannot be read, or is that of a parent."""
    reading = surroundings.readings.get("openmp")
    if reading is None:
        return None
    if reading.status == UNKNOWN:
        return _doubt(reading)
    if reading.status != POISONED:
        return None
    return Reason(
        "openmp-poisoned",
        f"{reading.reason}, and whether the pool was that of the forking thread is not known",
        "fork",
        Weight.DOUBT,
        "openmp",
        surroundings.waker("openmp"),
        (_SPAWN,),
        _seen(reading),
    )


def numba_on_gnu_openmp(surroundings: Surroundings) -> Reason | None:
    """Numba's parallel loops on GNU OpenMP: numba ends a forked child that runs one, from any thread."""
    names = surroundings.module("numba.np.ufunc.parallel")
    if names is None or names.get("_threading_layer") != "omp":
        return None
    workers = [thread for thread in surroundings.threads or () if thread.owner.startswith(_GNU)]
    evidence = (("threading layer", "omp"), ("workers of libgomp", str(len(workers))))
    remedies = ("choose another layer: NUMBA_THREADING_LAYER=workqueue, or tbb", _SPAWN)
    if workers:
        return Reason(
            "numba-on-gnu-openmp",
            "numba has run parallel loops on GNU OpenMP, and ends a forked child that runs one",
            "fork",
            Weight.HARM,
            "openmp",
            None,
            remedies,
            evidence,
        )
    return Reason(
        "numba-on-openmp",
        "numba has set up GNU OpenMP, and ends a forked child that runs a parallel loop if this process did",
        "fork",
        Weight.DOUBT,
        "openmp",
        None,
        remedies,
        evidence,
    )


def strange_threads(surroundings: Surroundings) -> Reason | None:
    """Threads of libraries of which nobody knows what they make of a fork."""
    threads = surroundings.threads
    if threads is None:
        return Reason(
            "threads-unreadable",
            "the threads of a process cannot be read on this system",
            "fork",
            Weight.DOUBT,
            remedies=(_SPAWN,),
        )
    strange = [thread for thread in threads if not _accounted(thread)]
    if not strange:
        return None
    owners = sorted({thread.owner or f"an unknown library ({thread.name})" for thread in strange})
    return Reason(
        "native-threads",
        f"threads of {', '.join(owners[:4])} would be missing in a forked child",
        "fork",
        Weight.DOUBT,
        remedies=(_SPAWN,),
        evidence=tuple((f"thread {thread.tid}", thread.library or "unknown") for thread in strange[:8]),
    )


def python_threads(surroundings: Surroundings) -> Reason | None:
    """Other threads of Python: a lock that one holds at the fork is never released in the child."""
    names = surroundings.python_threads
    if not names:
        return None
    listed = ", ".join(sorted(names)[:4])
    return Reason(
        "python-threads",
        f"other Python threads are running ({listed}), and what they hold locked stays locked in a child",
        "fork",
        Weight.DOUBT,
        remedies=("fork before threads are started", _SPAWN),
        evidence=tuple(("thread", name) for name in sorted(names)[:8]),
    )


def _accounted(thread: NativeThread) -> bool:
    if thread.owner.startswith(_TORCH):
        return not thread.name.startswith(_OTHERS_OF_TORCH)
    return thread.owner.startswith((*_HARMLESS, *_KNOWN))


def _doubt(reading: Reading) -> Reason:
    return Reason(
        code=f"{reading.accelerator}-unknown",
        text=f"the state of {reading.accelerator} is unknown: {reading.reason}",
        weight=Weight.DOUBT,
        accelerator=reading.accelerator,
        remedies=(_SPAWN,),
        evidence=_seen(reading),
    )


def _seen(reading: Reading) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in reading.as_object().items() if value is not None)


def _by(waker: Waker | None) -> str:
    if waker is None:
        return ""
    if waker.path is not None and waker.line is not None:
        return f" (woken by {waker.path}:{waker.line})"
    return f" (woken by {waker.module})" if waker.module else ""


def _detail(reading: Reading) -> str:
    return "" if reading.level == CONTEXT or not reading.reason else f": {reading.reason}"
