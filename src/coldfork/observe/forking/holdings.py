"""Find the things that this process holds now, and that a forked child could not use.

Nothing is judged here: `coldfork.model.forking` says which of these things break a child, and under which
condition.
"""

from __future__ import annotations

from coldfork.observe.forking.holding import Holding
from coldfork.observe.forking.threads import CYGRPC, GNU, python_threads, strange_threads
from coldfork.observe.probes.reading import AWAKE, CONTEXT, POISONED, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.observe.forking.holding import Holder
    from coldfork.observe.probes.reading import Reading

DEVICES = ("cuda", "rocm", "xpu", "opencl", "jax", "jax-cpu", "polars")
"""The runtimes that, once awake, no forked child can use, whatever the circumstances."""

TOKENIZERS = "TOKENIZERS_PARALLELISM"
# The values that turn threads off, from src/utils/parallelism.rs of tokenizers.
_OFF = frozenset({"", "off", "false", "f", "no", "n", "0"})
GRPC = "GRPC_ENABLE_FORK_SUPPORT"
# The values that turn fork support on, from grpc/_cython/_cygrpc/fork_posix.pyx.pxi.
_ON = frozenset({"1", "true", "yes"})


def held(holder: Holder) -> list[Holding]:
    """Return all things that the process holds now."""
    found = [one for name in DEVICES if (one := device(name, holder)) is not None]
    for piece in PIECES:
        one = piece(holder)
        if one is not None:
            found.append(one)
    found += python_threads(holder)
    return found


def device(accelerator: str, holder: Holder) -> Holding | None:
    """Return a runtime that is awake in this process, or was awake in the process that forked it."""
    reading = holder.readings.get(accelerator)
    if reading is None or reading.status not in (AWAKE, POISONED, UNKNOWN):
        return None
    if reading.status == UNKNOWN:
        return _doubt(reading)
    if reading.status == POISONED:
        what, aside = f"{accelerator} is poisoned here", f": {reading.reason}"
    else:
        what = f"{accelerator} is awake here" + (f" (level {reading.level})" if reading.level else "")
        aside = "" if reading.level == CONTEXT or not reading.reason else f": {reading.reason}"
    code, evidence = f"{accelerator}-{reading.status}", _seen(reading)
    return Holding(accelerator, code, what, aside, accelerator=accelerator, evidence=evidence)


def openmp_pool(holder: Holder) -> Holding | None:
    """Return a pool of libgomp that belongs to the forking thread, or may belong to it."""
    workers = [thread for thread in holder.threads or () if thread.owner.startswith(GNU)]
    if not workers:
        return None
    whose = [holder.mine(worker) for worker in workers]
    evidence = (
        ("library", workers[0].library or GNU),
        ("workers", str(len(workers))),
        ("workers of this thread", str(whose.count(True))),
    )
    owner = workers[0].owner
    if any(whose):
        what = f"this thread has run OpenMP regions of {owner}"
        aside = ", whose pool a forked child would wait for in vain"
        return _openmp("openmp-pool-of-this-thread", what, evidence, aside=aside)
    if None in whose:
        what = f"{owner} has a thread pool that may be the forking thread's"
        return _openmp("openmp-pool-of-unknown-thread", what, evidence, doubtful=True)
    return None


def openmp_unreadable(holder: Holder) -> Holding | None:
    """Return OpenMP if its state cannot be read or comes from a parent."""
    reading = holder.readings.get("openmp")
    if reading is None:
        return None
    if reading.status == UNKNOWN:
        return _doubt(reading)
    if reading.status != POISONED:
        return None
    what = f"{reading.reason}, and it is not known whether the pool was the forking thread's"
    return _openmp("openmp-poisoned", what, _seen(reading), doubtful=True)


def numba_on_gnu_openmp(holder: Holder) -> Holding | None:
    """Return numba's parallel loops on GNU OpenMP, because numba ends a forked child that runs such
    a loop.
    """
    names = holder.module("numba.np.ufunc.parallel")
    if names is None or names.get("_threading_layer") != "omp":
        return None
    workers = [thread for thread in holder.threads or () if thread.owner.startswith(GNU)]
    evidence = (("threading layer", "omp"), ("workers of libgomp", str(len(workers))))
    if workers:
        what = "numba has run parallel loops on GNU OpenMP, and ends a forked child that runs one"
        return _openmp("numba-on-gnu-openmp", what, evidence, name="numba")
    what = (
        "numba has set up GNU OpenMP, and ends a forked child that runs a parallel loop if this process did"
    )
    return _openmp("numba-on-openmp", what, evidence, name="numba", doubtful=True)


def tokenizers_pool(holder: Holder) -> Holding | None:
    """Return the thread pool of tokenizers, unless tokenizers makes forked children do without it."""
    reading = holder.readings.get("tokenizers")
    if reading is None or reading.status not in (AWAKE, POISONED, UNKNOWN):
        return None
    if reading.status == UNKNOWN:
        return _doubt(reading)
    setting = holder.setting(TOKENIZERS)
    if setting is None or setting.lower() in _OFF:
        return None
    what = f"tokenizers has encoded in parallel, and {TOKENIZERS}={setting} lets a forked child do so too"
    evidence = (*_seen(reading), (TOKENIZERS, setting))
    return Holding("tokenizers", "tokenizers-pool", what, accelerator="tokenizers", evidence=evidence)


def grpc_connections(holder: Holder) -> Holding | None:
    """Return gRPC if its threads show that it is in use; they end when the last channel is closed.

    Measured with 1.50, 1.62 and 1.76: see docs/explanation/start-policy.md.
    """
    workers = [thread for thread in holder.threads or () if thread.owner.startswith(CYGRPC)]
    if not workers:
        return None
    setting = holder.setting(GRPC)
    supported = setting is not None and setting.lower() in _ON
    what = "gRPC has open channels, and in a forked child a call fails or hangs"
    if supported:
        what = "gRPC has open channels, which a forked child cannot use; it can open channels of its own"
    evidence = ("threads of gRPC", str(len(workers))), (GRPC, "not set" if setting is None else setting)
    name, code = ("grpc-channels",) * 2 if supported else ("grpc", "grpc-without-fork-support")
    return Holding(name, code, what, evidence=evidence)


PIECES: tuple[Callable[[Holder], Holding | None], ...] = (
    openmp_pool, openmp_unreadable, numba_on_gnu_openmp, tokenizers_pool, grpc_connections, strange_threads,
)  # fmt: skip


def _openmp(
    code: str,
    what: str,
    evidence: tuple[tuple[str, str], ...],
    *,
    name: str = "openmp",
    aside: str = "",
    doubtful: bool = False,
) -> Holding:
    return Holding(name, code, what, aside, accelerator="openmp", doubtful=doubtful, evidence=evidence)


def _doubt(reading: Reading) -> Holding:
    name, evidence = reading.accelerator, _seen(reading)
    what = f"the state of {name} is unknown: {reading.reason}"
    return Holding(name, f"{name}-unknown", what, accelerator=name, doubtful=True, evidence=evidence)


def _seen(reading: Reading) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in reading.as_object().items() if value is not None)
