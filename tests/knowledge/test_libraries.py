"""Small programs that use one library each: the lines that wake a device, and their innocent neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected

PROGRAMS = {
    "warp": """
import warp as wp

wp.config.quiet = True
THREE = wp.constant(3)

@wp.struct
class Particle:
    place: wp.vec3

@wp.kernel
def double(numbers: wp.array(dtype=float), more: wp.array2d(dtype=wp.vec3)):
    numbers[wp.tid()] = 2.0

def later():
    wp.launch(double, dim=3)

wp.init()  # expect: device-init-at-import
A = wp.zeros(3, dtype=float)  # expect: device-init-at-import
B = wp.array([1.0, 2.0], dtype=float)  # expect: device-init-at-import
C = wp.array(shape=3, dtype=float)  # expect: device-init-at-import
""",
    "cupy": """
import cupy
import cupy as cp
from cupy.cuda import device, runtime
from cupy.cuda import Device, Stream, MemoryPool
M = cupy.RawModule(code="x")
N = M.code, M.options
K = M.get_function("k")  # expect: device-init-at-import
G = M.get_global("g")  # expect: device-init-at-import
RK = cupy.RawKernel("x", "k")
A = RK.num_regs  # expect: device-init-at-import
B = RK.name
RK((1,), (1,), ())  # expect: device-init-at-import
H = device.get_cublas_handle()  # expect: device-init-at-import
P = cupy.get_default_memory_pool()
P.set_limit(fraction=0.9)  # expect: device-init-at-import
P.set_limit(size=10)  # expect: driver-init-at-import
cupy.get_default_memory_pool().set_limit(fraction=0.9)  # expect: device-init-at-import
U = P.used_bytes()  # expect: driver-init-at-import
Q = cupy.cuda.runtime.deviceCanAccessPeer(0, 1)  # expect: driver-init-at-import
Q2 = runtime.getDeviceCount()  # expect: driver-init-at-import
V = runtime.runtimeGetVersion()
S0 = Stream.null
S1 = Stream(null=True)
S2 = Stream(non_blocking=True)  # expect: device-init-at-import
D = Device(0)
CC = Device(0).compute_capability  # expect: device-init-at-import
CC2 = D.compute_capability  # expect: device-init-at-import
I = D.id
D.use()  # expect: device-init-at-import
EK = cupy.ElementwiseKernel("T x", "T y", "y = x", "k")
EK(1.0)  # expect: device-init-at-import
R = runtime.memcpyHostToDevice
MP = MemoryPool()
cp.cuda.set_allocator(MP.malloc)
MP.malloc(3)  # expect: device-init-at-import
PP = cp.get_default_pinned_memory_pool()
PP.free_all_blocks()
RS = cp.random.RandomState(3)  # expect: device-init-at-import
E1 = runtime.CUDARuntimeError
runtime.setDevice(0)  # expect: device-init-at-import
with Device(0):  # expect: device-init-at-import
    pass
""",
    "triton": """
import triton

@triton.jit
def kernel(x):
    pass

@triton.autotune(configs=[], key=[])
@triton.jit(do_not_specialize=["x"])
def tuned(x):
    pass

def later():
    kernel[(1,)](1)

CONFIGURED = kernel[(1,)]

kernel[(1,)](1)  # expect: device-init-at-import
tuned[(1,)](1)  # expect: device-init-at-import
CONFIGURED(1)  # expect: device-init-at-import
kernel.warmup(1, grid=(1,))  # expect: device-init-at-import
""",
    "triton's driver, though NVML is asked": """
import os

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
import triton

DRIVER = triton.runtime.driver.active  # expect: driver-init-at-import conditional
""",
    "rmm": """
import rmm
import rmm.mr
from rmm.allocators.cupy import rmm_cupy_allocator

COLD = rmm.mr.CudaMemoryResource()
rmm.register_reinitialize_hook(print)

rmm.reinitialize(pool_allocator=True)  # expect: device-init-at-import
A = rmm.DeviceBuffer(size=8)  # expect: device-init-at-import
B = rmm.DeviceBuffer()  # expect: driver-init-at-import
C = rmm.mr.get_current_device_resource()  # expect: driver-init-at-import
D = rmm.mr.PoolMemoryResource(COLD)  # expect: device-init-at-import
""",
    "rmm's allocator for torch": """
import rmm.allocators.torch  # expect: waking-import
""",
    "cudf": """
import cudf

cudf.set_option("mode.pandas_compatible", True)

def later():
    return cudf.Series([1])

A = cudf.DataFrame({"a": [1]})  # expect: device-init-at-import
B = cudf.Series([1])  # expect: device-init-at-import
C = cudf.read_csv("a.csv")  # expect: device-init-at-import
""",
    "cuml": """
import cuml
from cuml.cluster import KMeans

cuml.set_global_output_type("numpy")
MODEL = KMeans(n_clusters=3)

A = cuml.make_blobs(10)  # expect: device-init-at-import
B = KMeans(n_clusters=3).fit([[1.0]])  # expect: device-init-at-import
MODEL.fit([[1.0]])  # expect: device-init-at-import
""",
    "cugraph": """
import cugraph

GRAPH = cugraph.Graph(directed=True)
GRAPH.from_pandas_edgelist(None)  # expect: device-init-at-import
""",
    "cugraph's data sets": """
from cugraph.datasets import karate  # expect: waking-import
""",
    "nvmath": """
import nvmath
from nvmath.device import current_device_lto

A = nvmath.fft.fft([1.0])
B = current_device_lto()  # expect: driver-init-at-import
C = nvmath.linalg.advanced.matmul([[1.0]], [[1.0]])  # expect: device-init-at-import
""",
    "cuquantum": """
from cuquantum.tensornet import NetworkOptions, contract

OPTIONS = NetworkOptions(device_id=0)
A = contract("ij,jk->ik", [[1.0]], [[1.0]])  # expect: device-init-at-import
""",
    "onnxruntime": """
import onnxruntime as ort

OPTIONS = ort.SessionOptions()
KNOWN = ort.get_available_providers()
PROVIDERS = [("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"]

A = ort.InferenceSession("a.onnx", OPTIONS, ["CPUExecutionProvider"])
B = ort.InferenceSession("a.onnx", providers=["CPUExecutionProvider"])
C = ort.InferenceSession("a.onnx", OPTIONS, ["CUDAExecutionProvider"])  # expect: device-init-at-import
D = ort.InferenceSession("a.onnx", providers=PROVIDERS)  # expect: device-init-at-import
E = ort.InferenceSession("a.onnx", providers=["ROCMExecutionProvider"])
""",
    "paddle": """
import paddle  # expect: waking-import

BUILT = paddle.is_compiled_with_cuda()
A = paddle.device.cuda.device_count()  # expect: driver-init-at-import
""",
    "mxnet": """
import mxnet as mx

DEVICE = mx.gpu(0)
HOST = mx.nd.zeros(3, ctx=mx.cpu())
PLAIN = mx.nd.array([1])

A = mx.nd.zeros(3, ctx=DEVICE)  # expect: device-init-at-import
B = mx.context.num_gpus()  # expect: driver-init-at-import
C = mx.context.gpu_memory_info(0)  # expect: device-init-at-import
""",
    "taichi": """
import taichi as ti

@ti.kernel
def fill():
    pass

@ti.data_oriented
class Field:
    pass

ti.init()
ti.init(arch=ti.cpu)
ti.init(arch=ti.cuda)  # expect: device-init-at-import
ti.init(ti.gpu)  # expect: device-init-at-import
ti.init(arch=[ti.vulkan, ti.cuda])  # expect: device-init-at-import
""",
    "pyopencl's fixtures": """
from pyopencl.tools import get_test_platforms_and_devices, pytest_generate_tests_for_pyopencl

PLATFORMS = get_test_platforms_and_devices()  # expect: driver-init-at-import
""",
    "tensorrt": """
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.WARNING)
A = trt.Runtime(LOGGER)  # expect: device-init-at-import
B = trt.Builder(LOGGER)  # expect: device-init-at-import
""",
    "extensions that torch compiles": """
from torch.utils.cpp_extension import CUDAExtension, load, load_inline  # expect: waking-import conditional

PLAIN = load("a", ["a.cpp"])
PLAIN_TOO = load_inline("a", "int f();")
HOST = load("a", ["a.cpp", "a.cu"], with_cuda=False)

A = load("a", ["a.cpp", "a.cu"])  # expect: device-init-at-import
B = load(name="a", sources="a.cu")  # expect: device-init-at-import
C = load_inline("a", "int f();", cuda_sources=["int f() {}"])  # expect: device-init-at-import
D = load("a", ["a.cpp"], with_cuda=True)  # expect: device-init-at-import
""",
    "numba's decorators": """
import numba
from numba import cuda, float32, vectorize
from numba.cuda.cudadrv.devices import require_context

KEPT = [cuda.jit("void(float32[::1])"), vectorize(["float32(float32)"], target="cuda")]

@cuda.jit
def lazy(numbers):
    pass

@cuda.jit("void(float32[::1])")  # expect: device-init-at-import
def eager(numbers):
    pass

@cuda.jit(["void(float32[::1])"], fastmath=True)  # expect: device-init-at-import
def eager_by_a_list(numbers):
    pass

@cuda.jit(numba.types.void(float32[::1]))  # expect: device-init-at-import
def eager_by_a_type(numbers):
    pass

@vectorize(["float32(float32)"], target="cuda")  # expect: device-init-at-import
def double(number):
    return number * 2

@vectorize(["float32(float32)"])
def triple(number):
    return number * 3

@cuda.require_context
def ask():
    return 1

@require_context
def ask_too():
    return 1

A = KEPT[0](lazy)  # expect: device-init-at-import
B = ask()  # expect: device-init-at-import
C = ask_too()  # expect: device-init-at-import
""",
    "numba's decorators, its source beside": """
### m.py
from numba import cuda

KEPT = [cuda.jit("void(float32)")]

@cuda.jit
def lazy(numbers):
    pass

@cuda.jit("void(float32)")  # expect: device-init-at-import
def eager(numbers):
    pass

@cuda.require_context
def ask():
    return 1

A = ask()  # expect: device-init-at-import
### beside/numba/__init__.py
### beside/numba/cuda/__init__.py
from numba.cuda.cudadrv.devices import require_context
from numba.cuda.decorators import jit
### beside/numba/cuda/decorators.py
from numba.cuda._compiled import compile

def jit(func_or_sig=None, **options):
    if not isinstance(func_or_sig, str):
        return func_or_sig

    def _jit(func):
        return compile(func, func_or_sig)

    return _jit
### beside/numba/cuda/cudadrv/__init__.py
### beside/numba/cuda/cudadrv/devices.py
from numba.cuda._compiled import ensure_context

def require_context(fn):
    def _require_cuda_context(*args, **kws):
        with ensure_context():
            return fn(*args, **kws)

    return _require_cuda_context
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_a_library_wakes_where_the_library_does(text: str, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, Setting(runs=False))
