"""The canary's trials, with stand-ins for the libraries; test_hazards.py tries it on the real ones."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from coldfork.start import trials as home
from coldfork.start.trials import trials

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is tried where there is no fork")

LIBRARIES = ("torch", "torch.cuda", "torch.xpu", "tokenizers", "polars", "jax", "pyopencl")
HIDDEN = (*LIBRARIES, "jax._src.xla_bridge", "numba.np.ufunc.parallel", "llvmlite.binding")


class Process:
    """A process with these native libraries, each with these functions, none of which does anything."""

    def __init__(self, *paths: str, without: tuple[str, ...] = ()) -> None:
        self.maps = SimpleNamespace(files=())
        self.paths = paths
        self.examination = self
        self.without = without
        self.functions: dict[str, MagicMock] = {}
        self.ctypes = ctypes
        self.program = ctypes.CDLL(None)
        self.opened: list[tuple[bytes, ...]] = []

    def refresh(self) -> None:
        """Only now is it seen what has been loaded."""
        self.maps.files = self.paths

    def loader(self) -> Process:
        return self

    def library(self, *prefixes: str) -> str | None:
        return next((one for one in self.maps.files if one.rpartition("/")[2].startswith(prefixes)), None)

    def handle(self, *names: bytes) -> int | None:
        self.opened.append(names)
        return None if "handle" in self.without else len(self.opened)

    def function(self, handle: int, name: bytes, *arguments: Any) -> Any:
        assert handle == len(self.opened)
        if name.decode() in self.without:
            return None
        return self.functions.setdefault(name.decode(), MagicMock(return_value=0))


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Process]:
    """Makes this process look as if it had these libraries and no module that is tried."""
    for name in HIDDEN:
        monkeypatch.delitem(sys.modules, name, raising=False)

    def make(*paths: str, without: tuple[str, ...] = ()) -> Process:
        made = Process(*paths, without=without)
        monkeypatch.setattr(home, "HERE", made)
        return made

    make()
    return make


def imported(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(attributes)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def names() -> list[str]:
    return [trial.name for trial in trials()]


LARGE_ENOUGH = 1 << 15
"""`at::internal::GRAIN_SIZE`: PyTorch gives no less than this to a thread."""


@pytest.mark.usefixtures("process")
def test_nothing_is_tried_where_nothing_is_loaded() -> None:
    assert trials() == ()


@pytest.mark.usefixtures("process")
def test_torch_computes_on_enough_to_go_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = MagicMock()
    imported(monkeypatch, "torch", zeros=zeros)
    (trial,) = trials()
    assert trial.name == "a parallel operation of torch"
    zeros.assert_not_called()
    trial.attempt()
    (size,) = zeros.call_args.args
    assert size >= 2 * LARGE_ENOUGH
    zeros.return_value.add_.assert_called_once_with(1)


@pytest.mark.usefixtures("process")
def test_tokenizers_encode_and_polars_collects(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, models, frame, col = MagicMock(), MagicMock(), MagicMock(), MagicMock()
    imported(monkeypatch, "tokenizers", Tokenizer=tokenizer, models=models)
    imported(monkeypatch, "polars", DataFrame=frame, col=col)
    encoding, query = trials()
    assert (encoding.name, query.name) == ("encoding a batch with tokenizers", "a query of polars")
    tokenizer.assert_not_called()
    frame.assert_not_called()
    encoding.attempt()
    (vocabulary,), (batch,) = models.WordLevel.call_args.args, tokenizer().encode_batch.call_args.args
    assert models.WordLevel.call_args.kwargs["unk_token"] in vocabulary
    assert len(batch) > 1
    assert set(" ".join(batch).split()) == set(vocabulary)
    query.attempt()
    (table,) = frame.call_args.args
    assert {len(column) for column in table.values()} == {128}
    frame().lazy().group_by.assert_called_once_with("key")
    col.assert_called_once_with("value")
    assert set(table) == {"key", "value"}
    frame().lazy().group_by().agg().collect.assert_called_once_with()


@pytest.mark.usefixtures("process")
def test_jax_compiles_where_it_has_been_used(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, numpy = MagicMock(), MagicMock()
    imported(monkeypatch, "jax", devices=list, jit=jit, numpy=numpy)
    assert names() == []
    backends: dict[str, object] = {}
    imported(monkeypatch, "jax._src.xla_bridge", _backends=backends)
    assert names() == []
    backends["cpu"] = object()
    (trial,) = trials()
    assert trial.name == "compiling with jax"
    jit.return_value.assert_not_called()
    trial.attempt()
    jit.return_value.assert_called_once_with(numpy.ones((64, 64)))
    jit.return_value.return_value.block_until_ready.assert_called_once_with()


def test_opencl_fills_a_buffer_where_there_is_a_driver(
    monkeypatch: pytest.MonkeyPatch, process: Callable[..., Process]
) -> None:
    opencl = MagicMock()
    opencl.get_platforms.return_value = [MagicMock(), MagicMock()]
    opencl.get_platforms()[0].get_devices.return_value = []
    opencl.get_platforms()[1].get_devices.return_value = ["first", "second"]
    names_of = ("get_platforms", "Context", "CommandQueue", "Buffer", "mem_flags", "enqueue_fill_buffer")
    imported(monkeypatch, "pyopencl", **{name: getattr(opencl, name) for name in names_of})
    assert names() == []
    for driver in ("/usr/lib/libpocl.so.2", "/usr/lib/libOpenCL.so.1"):
        process(driver)
        (trial,) = trials()
        assert trial.name == "filling a buffer with OpenCL"
    trial.attempt()
    opencl.Context.assert_called_once_with(["first"])
    queue = opencl.CommandQueue().__enter__()
    (used, buffer, pattern, offset, size), _ = opencl.enqueue_fill_buffer.call_args
    assert (used, buffer, pattern, offset) == (queue, opencl.Buffer(), b"\0", 0)
    assert size == opencl.Buffer.call_args_list[0].args[2]
    queue.finish.assert_called_once_with()


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("module", "attribute"),
    [
        ("torch", "zeros"),
        ("tokenizers", "Tokenizer"),
        ("polars", "DataFrame"),
        ("torch.cuda", "is_available"),
        ("torch.xpu", "is_available"),
    ],
)
def test_a_module_that_is_being_imported_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, module: str, attribute: str
) -> None:
    made = imported(monkeypatch, module)
    assert names() == []
    setattr(made, attribute, MagicMock())
    assert len(names()) == 1


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("device", ["cuda", "xpu"])
def test_torch_is_asked_for_its_device_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    is_available, current_device = MagicMock(return_value=False), MagicMock()
    imported(monkeypatch, f"torch.{device}", is_available=is_available, current_device=current_device)
    (trial,) = trials()
    assert trial.name == f"asking torch.{device}"
    is_available.assert_not_called()
    trial.attempt()
    current_device.assert_not_called()
    is_available.return_value = True
    trial.attempt()
    current_device.assert_called_once_with()


def test_each_openmp_runtime_runs_a_region_of_two_threads(process: Callable[..., Process]) -> None:
    here = process(
        "/lib/libc.so.6", "/lib/libgomp-a34b.so.1", "/x/libiomp5.so", "/x/libomp.so.5", "/x/libompi.a"
    )
    tried = trials()
    assert [trial.name.removeprefix("a parallel region of ") for trial in tried] == [
        "libgomp-a34b.so.1",
        "libiomp5.so",
        "libomp.so.5",
        "libompi.a",
    ]
    assert here.opened[0] == (b"/lib/libgomp-a34b.so.1",)
    region = here.functions["GOMP_parallel"]
    region.assert_not_called()
    tried[0].attempt()
    ((nothing, data, threads, flags),) = (call.args for call in region.call_args_list)
    assert nothing.value == ctypes.cast(here.program.free, ctypes.c_void_p).value
    assert (data, threads, flags) == (None, 2, 0)


@pytest.mark.parametrize("missing", ["handle", "GOMP_parallel"])
def test_an_openmp_runtime_that_cannot_be_called_is_not_tried(
    process: Callable[..., Process], missing: str
) -> None:
    process("/lib/libgomp.so.1", without=(missing,))
    assert names() == []


@pytest.mark.usefixtures("process")
def test_numba_runs_its_own_function_for_parallel_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    size, called = ctypes.c_size_t, list[Any]()

    # As numba/np/ufunc/workqueue.h declares it.
    declared = ctypes.CFUNCTYPE(
        None,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.POINTER(size),
        ctypes.POINTER(size),
        ctypes.c_void_p,
        size,
        size,
        ctypes.c_int,
    )

    def parallel_for(body: Any, arguments: Any, dimensions: Any, steps: Any, data: Any, *rest: int) -> None:
        called.append((body, bool(arguments), dimensions[0], steps[0], data, *rest))

    function = declared(parallel_for)
    symbols = {"numba_parallel_for": ctypes.cast(function, ctypes.c_void_p).value}
    imported(monkeypatch, "llvmlite.binding", address_of_symbol=symbols.get)
    assert names() == []
    numba = imported(monkeypatch, "numba.np.ufunc.parallel", _is_initialized=False)
    assert names() == []
    numba._is_initialized = True  # type: ignore[attr-defined]
    (trial,) = trials()
    assert trial.name == "a parallel loop of numba"
    assert called == []
    trial.attempt()
    getppid = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p).value
    assert called == [(getppid, True, 2, 0, None, 0, 0, 2)]
    symbols.clear()
    assert names() == []
    monkeypatch.delitem(sys.modules, "llvmlite.binding")
    assert names() == []


@pytest.mark.parametrize(("code", "fails"), [(0, False), (100, False), (3, True), (999, True)])
def test_cudas_driver_is_initialised_where_it_is_loaded(
    process: Callable[..., Process], code: int, fails: bool
) -> None:
    here = process("/usr/lib/libcuda.so.550.54")
    (trial,) = trials()
    assert trial.name == "initialising CUDA's driver"
    # The name by which programs know it comes first.
    assert here.opened == [(b"libcuda.so.1", b"/usr/lib/libcuda.so.550.54")]
    initialise = here.functions["cuInit"]
    initialise.return_value = code
    initialise.assert_not_called()
    if fails:
        with pytest.raises(RuntimeError, match=f"^cuInit returned {code}$"):
            trial.attempt()
    else:
        trial.attempt()
    initialise.assert_called_once_with(0)


@pytest.mark.parametrize("missing", ["handle", "cuInit"])
def test_a_driver_that_cannot_be_called_is_not_tried(process: Callable[..., Process], missing: str) -> None:
    process("/usr/lib/libcuda.so.1", without=(missing,))
    assert names() == []


def test_a_library_is_opened_under_the_name_that_the_file_system_has(process: Callable[..., Process]) -> None:
    folder = b"/\xe9t\xe9/"
    here = process(*(os.fsdecode(folder + name) for name in (b"libgomp.so.1", b"libcuda.so.1")))
    assert len(names()) == 2
    assert here.opened == [(folder + b"libgomp.so.1",), (b"libcuda.so.1", folder + b"libcuda.so.1")]
