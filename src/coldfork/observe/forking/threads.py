"""Find the threads that a forked child would lack: those of libraries and Python's own."""

from __future__ import annotations

from coldfork.observe.forking.holding import Holding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldfork.observe.forking.holding import Holder
    from coldfork.observe.probes.threads import NativeThread

GNU = "libgomp"
CYGRPC = "cygrpc"
# Libraries with fork handlers that recreate their threads in the child.
_INTEL = ("libiomp5", "libomp")

# Libraries whose threads a child does not miss, because it recreates them or starts others.
_HARMLESS = (
    "libopenblas",
    "libscipy_openblas",
    "libflexiblas",
    "libarrow",
    "libzmq",
    "workqueue.",  # numba's own thread pool, which numba restarts in a child
    *_INTEL,
)
# PyTorch drops its pool for mobile kernels in a forked child. The pool exists once a program sets how many
# threads PyTorch may use. Unlike PyTorch's other threads, its threads have no names of their own.
_TORCH = "libtorch_cpu"
_OTHERS_OF_TORCH = ("pt_", "Caffe")
# Libraries whose threads other probes report.
_KNOWN = (
    GNU, CYGRPC, "libcuda.so", "libamdhip64", "libhsa-runtime64", "libze_", "libOpenCL", "libpocl",
    "libnvidia-opencl", "libamdocl", "libigdrcl", "libintelocl", "libjax_common", "xla_extension",
    "xla_cuda", "xla_rocm", "libtpu", "_jax.", "_polars_runtime", "polars.", "tokenizers.",
)  # fmt: skip


def strange_threads(holder: Holder) -> Holding | None:
    """Return threads of libraries whose behaviour after a fork is unknown."""
    threads = holder.threads
    if threads is None:
        what = "the threads of a process cannot be read on this system"
        return Holding("threads", "threads-unreadable", what, doubtful=True)
    strange = [thread for thread in threads if not _accounted(thread)]
    if not strange:
        return None
    owners = sorted({thread.owner or f"an unknown library ({thread.name})" for thread in strange})
    what = f"threads of {', '.join(owners[:4])} would be missing in a forked child"
    evidence = tuple((f"thread {thread.tid}", thread.library or "unknown") for thread in strange[:8])
    return Holding("threads", "native-threads", what, doubtful=True, evidence=evidence)


def python_threads(holder: Holder) -> Iterator[Holding]:
    """Yield other Python threads that may hold a lock, which nothing would release in a child."""
    busy = [thread for thread in holder.python_threads if not thread.idle]
    importing = [thread for thread in busy if thread.importing is not None]
    for thread in importing[:2]:
        name = f"the lock of {thread.importing}, by importing it"
        what = (
            f"the thread {thread.name} is importing {thread.importing}, whose lock is never released in a "
            "child"
        )
        yield Holding(name, "module-being-imported", what, evidence=(("thread", thread.name),))
    others = [thread for thread in busy if thread.importing is None]
    if others:
        names = sorted(thread.name for thread in others)
        yield Holding(
            "threads",
            "python-threads",
            f"other Python threads are running ({', '.join(names[:4])}), and their locks stay locked in a "
            "child",
            doubtful=True,
            evidence=tuple(
                ("thread", thread.name if not thread.place else f"{thread.name}, at {thread.place}")
                for thread in sorted(others, key=lambda one: one.name)[:8]
            ),
        )


def _accounted(thread: NativeThread) -> bool:
    if thread.owner.startswith(_TORCH):
        return not thread.name.startswith(_OTHERS_OF_TORCH)
    return thread.owner.startswith((*_HARMLESS, *_KNOWN))
