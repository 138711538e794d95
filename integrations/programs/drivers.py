"""Asks one library after the other, each in a process of its own, what it sees of two virtual H100s."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import coldfork.virtual


def by_ctypes() -> object:
    """The driver, called directly."""
    cuda = ctypes.CDLL("libcuda.so.1")
    number = ctypes.c_int()
    return cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(number)), number.value


def by_cuda_bindings() -> object:
    """NVIDIA's bindings."""
    driver = import_module("cuda.bindings.driver")
    driver.cuInit(0)
    major = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    name = driver.cuDeviceGetName(64, 1)[1].partition(b"\0")[0].decode()
    return driver.cuDeviceGetCount()[1], name, driver.cuDeviceGetAttribute(major, 1)[1]


def by_cuda_core() -> object:
    """NVIDIA's objects; making one current creates a context."""
    device = import_module("cuda.core").Device(1)
    device.set_current()
    return device.name, tuple(device.compute_capability), device.uuid


def by_numba() -> object:
    """numba-cuda."""
    cuda = import_module("numba.cuda")
    return cuda.is_available(), len(cuda.gpus), str(cuda.gpus[1].name)


def by_triton() -> object:
    """Triton, which compiles a module against the driver; it looks for the library where it is told to."""
    os.environ["TRITON_LIBCUDA_PATH"] = str(Path(str(DEVICE.library)).parent)
    backends = import_module("triton.backends").backends
    driver = import_module("triton.runtime").driver
    return backends["nvidia"].driver.is_active(), driver.active.get_current_target().arch


def by_pynvml() -> object:
    """NVML, which never touches the driver."""
    pynvml = import_module("pynvml")
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(1)
    return pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetUUID(handle)


ASKED: tuple[Callable[[], object], ...] = (
    by_ctypes,
    by_cuda_bindings,
    by_cuda_core,
    by_numba,
    by_triton,
    by_pynvml,
)

if __name__ == "__main__":
    DEVICE = coldfork.virtual.install("h100", 2)
    # cuda-bindings 13 says that a driver for CUDA 12 is old, which is so.
    warnings.simplefilter("ignore")
    for ask in ASKED:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            answer = ask()
            print(f"{ask.__name__:16}  {answer}; driver {DEVICE.state}, level {DEVICE.level}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
