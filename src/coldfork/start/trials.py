"""What a canary tries in its child: one parallel operation of each runtime loaded, one query of each device.

Everything is prepared in the parent without being run there, and nothing is imported.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from coldfork.observe.probes.process import namespace
from coldfork.start.process.snapshot import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OPENMP = ("libgomp", "libiomp5", "libomp")
_DRIVER = "libcuda.so"
_ENOUGH = 1 << 20
"""Elements enough for PyTorch to go parallel."""


class Trial(NamedTuple):
    """One thing to try."""

    name: str
    attempt: Callable[[], object]


def trials() -> tuple[Trial, ...]:
    """What can be tried here, the cheapest first."""
    HERE.refresh()
    return (*_openmp(), *_numba(), *_torch(), *_tokenizers(), *_polars(), *_jax(), *_devices())


def _openmp() -> Iterator[Trial]:
    """A parallel region of two threads in each OpenMP library, through the function that compilers call."""
    loader = HERE.examination.loader()
    c = loader.ctypes
    # A function of the C library that does nothing when it is given nothing.
    nothing = c.cast(loader.program.free, c.c_void_p)
    for path in HERE.maps.files:
        name = path.rpartition("/")[2]
        handle = loader.handle(path.encode("utf-8", "surrogateescape")) if name.startswith(_OPENMP) else None
        if handle is None:
            continue
        region = loader.function(handle, b"GOMP_parallel", c.c_void_p, c.c_void_p, c.c_uint, c.c_uint)
        if region is not None:
            yield Trial(f"a parallel region of {name}", partial(region, nothing, None, 2, 0))


def _numba() -> Iterator[Trial]:
    """The function that starts numba's threads, which checks whether it runs in a forked child."""
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
    # A loop of two steps over nothing, whose body is a function that looks at no argument.
    body = c.cast(loader.program.getppid, c.c_void_p)
    dimensions, steps, arguments = (size * 4)(2, 2, 0, 0), (size * 4)(), (c.c_void_p * 4)()
    yield Trial(
        "a parallel loop of numba", lambda: parallel_for(body, arguments, dimensions, steps, None, 0, 0, 2)
    )


def _torch() -> Iterator[Trial]:
    torch = _module("torch", "zeros")
    if torch is not None:
        yield Trial("a parallel operation of torch", lambda: torch.zeros(_ENOUGH).add_(1))


def _tokenizers() -> Iterator[Trial]:
    tokenizers = _module("tokenizers", "Tokenizer")
    if tokenizers is None:
        return

    def attempt() -> None:
        word = tokenizers.models.WordLevel({"word": 0}, unk_token="word")
        tokenizers.Tokenizer(word).encode_batch(["word word"] * 64)

    yield Trial("encoding a batch with tokenizers", attempt)


def _polars() -> Iterator[Trial]:
    polars = _module("polars", "DataFrame")
    if polars is None:
        return

    def attempt() -> None:
        table = polars.DataFrame({"key": [0, 1] * 64, "value": [1.0] * 128})
        table.lazy().group_by("key").agg(polars.col("value").sum()).collect()

    yield Trial("a query of polars", attempt)


def _jax() -> Iterator[Trial]:
    jax = _module("jax", "devices")
    # Before its first use JAX has nothing that a fork could break, and starting it here would take seconds.
    if jax is not None and (namespace("jax._src.xla_bridge") or {}).get("_backends"):
        # Compiled anew, for what was compiled before may run without a thread.
        product = jax.jit(lambda matrix: (matrix @ matrix.T).sum())
        yield Trial("compiling with jax", lambda: product(jax.numpy.ones((64, 64))).block_until_ready())


def _opencl() -> Iterator[Trial]:
    pyopencl = _module("pyopencl", "get_platforms")
    if pyopencl is None or HERE.library("libpocl", "libOpenCL") is None:
        return

    def attempt() -> None:
        devices = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
        context = pyopencl.Context(devices[:1])
        with pyopencl.CommandQueue(context) as queue:
            buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 1024)
            pyopencl.enqueue_fill_buffer(queue, buffer, b"\0", 0, 1024)
            queue.finish()

    yield Trial("filling a buffer with OpenCL", attempt)


def _devices() -> Iterator[Trial]:
    yield from _cuda_driver()
    for name in ("cuda", "xpu"):
        module = _module(f"torch.{name}", "is_available")
        if module is not None:
            yield Trial(f"asking torch.{name}", partial(_ask, module))
    yield from _opencl()


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

    yield Trial("initialising CUDA's driver", attempt)


_NO_DEVICE = 100


def _ask(module: Any) -> None:
    """One query of a device through torch, which initialises it."""
    if module.is_available():
        module.current_device()


def _module(name: str, attribute: str) -> Any:
    """A module that is imported to its end, or None."""
    names = namespace(name)
    return None if names is None or attribute not in names else sys.modules[name]
