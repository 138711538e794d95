"""A canary's trials in its child: one parallel operation of each loaded runtime, one query of each device.

Everything is prepared in the parent, but not run there, and nothing is imported.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from coldfork.observe.probes.modules import namespace
from coldfork.start.process import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Known = tuple[str, str, str, "Callable[[Any], object]", tuple[str, ...]]
_POOL = ("openmp",)
_OPENMP = ("libgomp", "libiomp5", "libomp")
_DRIVER = "libcuda.so"
_NO_DEVICE = 100
"""`CUDA_ERROR_NO_DEVICE` of the driver."""
_ENOUGH = 1 << 20
"""The number of elements from which PyTorch works in parallel."""


class Trial(NamedTuple):
    """One thing that the child tries."""

    name: str
    attempt: Callable[[], object]
    about: tuple[str, ...] = ()
    """The names, in the table of forks, of the runtimes that the trial uses."""


def trials() -> tuple[Trial, ...]:
    """Return the trials that are possible in this process, the cheapest first."""
    HERE.refresh()
    return (*_openmp(), *_numba(), *_of_libraries(_RUNTIMES), *_cuda_driver(), *_of_libraries(_DEVICES))


def _openmp() -> Iterator[Trial]:
    """Yield a trial for each OpenMP library: a parallel region of two threads."""
    loader = HERE.examination.loader()
    c = loader.ctypes
    # A function of the C library that does nothing when given a null pointer.
    nothing = c.cast(loader.program.free, c.c_void_p)
    for path in HERE.maps.files:
        name = path.rpartition("/")[2]
        handle = loader.handle(path.encode("utf-8", "surrogateescape")) if name.startswith(_OPENMP) else None
        if handle is None:
            continue
        region = loader.function(handle, b"GOMP_parallel", c.c_void_p, c.c_void_p, c.c_uint, c.c_uint)
        if region is not None:
            yield Trial(f"a parallel region of {name}", partial(region, nothing, None, 2, 0), _POOL)


def _numba() -> Iterator[Trial]:
    """Yield a trial of the function that starts numba's threads, which fails in a forked child."""
    if not (namespace("numba.np.ufunc.parallel") or {}).get("_is_initialized"):
        return
    binding = sys.modules.get("llvmlite.binding")
    address = binding.address_of_symbol("numba_parallel_for") if binding is not None else None
    if not address:
        return
    loader = HERE.examination.loader()
    c = loader.ctypes
    size = c.c_size_t
    parallel_for = c.CFUNCTYPE(
        None, c.c_void_p, c.c_void_p, c.POINTER(size), c.POINTER(size), c.c_void_p, size, size, c.c_int
    )(address)
    # An empty loop of two steps, with a body that ignores its arguments.
    body = c.cast(loader.program.getppid, c.c_void_p)
    dimensions, steps, arguments = (size * 4)(2, 2, 0, 0), (size * 4)(), (c.c_void_p * 4)()
    yield Trial(
        "a parallel loop of numba",
        lambda: parallel_for(body, arguments, dimensions, steps, None, 0, 0, 2),
        ("numba",),
    )


def _of_libraries(known: Iterable[_Known]) -> Iterator[Trial]:
    """Yield a trial for each library that is completely imported and, if this can be known, in use."""
    for library, attribute, name, attempt, about in known:
        is_used = _IN_USE.get(library)
        if attribute in (namespace(library) or {}) and (is_used is None or is_used()):
            yield Trial(name, partial(attempt, sys.modules[library]), about)


def _torch(torch: Any) -> None:
    torch.zeros(_ENOUGH).add_(1)


def _tokenizers(tokenizers: Any) -> None:
    word = tokenizers.models.WordLevel({"word": 0}, unk_token="word")
    tokenizers.Tokenizer(word).encode_batch(["word word"] * 64)


def _polars(polars: Any) -> None:
    table = polars.DataFrame({"key": [0, 1] * 64, "value": [1.0] * 128})
    table.lazy().group_by("key").agg(polars.col("value").sum()).collect()


def _jax(jax: Any) -> None:
    # Compiled again, because an earlier compilation may run without threads.
    product = jax.jit(lambda matrix: (matrix @ matrix.T).sum())
    product(jax.numpy.ones((64, 64))).block_until_ready()


def _opencl(pyopencl: Any) -> None:
    devices = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
    context = pyopencl.Context(devices[:1])
    with pyopencl.CommandQueue(context) as queue:
        buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 1024)
        pyopencl.enqueue_fill_buffer(queue, buffer, b"\0", 0, 1024)
        queue.finish()


def _ask(module: Any) -> None:
    """Query a device once through torch, so that torch initialises the device."""
    if module.is_available():
        module.current_device()


_RUNTIMES = (
    ("torch", "zeros", "a parallel operation of torch", _torch, _POOL),
    ("tokenizers", "Tokenizer", "encoding a batch with tokenizers", _tokenizers, ("tokenizers",)),
    ("polars", "DataFrame", "a query of polars", _polars, ("polars",)),
    ("jax", "devices", "compiling with jax", _jax, ("jax", "jax-cpu")),
)
"""For each: the module, a name that it has once it is imported, a description, the trial, and its
runtimes.
"""
_DEVICES = (
    ("torch.cuda", "is_available", "asking torch.cuda", _ask, ("cuda", "rocm")),
    ("torch.xpu", "is_available", "asking torch.xpu", _ask, ("xpu",)),
    ("pyopencl", "get_platforms", "filling a buffer with OpenCL", _opencl, ("opencl",)),
)
_IN_USE: dict[str, Callable[[], object]] = {
    # Before its first use JAX has nothing that a fork could break, and starting it here would take seconds.
    "jax": lambda: (namespace("jax._src.xla_bridge") or {}).get("_backends"),
    "pyopencl": lambda: HERE.library("libpocl", "libOpenCL"),
}


def _cuda_driver() -> Iterator[Trial]:
    path = HERE.library(_DRIVER)
    if path is None:
        return
    loader = HERE.examination.loader()
    handle = loader.handle(b"libcuda.so.1", path.encode("utf-8", "surrogateescape"))
    initialise = None if handle is None else loader.function(handle, b"cuInit", loader.ctypes.c_uint)
    if initialise is None:
        return

    def attempt() -> None:
        code = initialise(0)
        if code not in (0, _NO_DEVICE):
            raise RuntimeError(f"cuInit returned {code}")

    yield Trial("initialising CUDA's driver", attempt, ("cuda",))
