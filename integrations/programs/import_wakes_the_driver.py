"""Imports cutlass beside jax on a virtual H100, then asks the driver, as others would, in a forked child."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys

import coldfork.virtual


def initialised() -> str:
    """Return the driver's answer to a harmless question in this process."""
    number = ctypes.c_int()
    code = ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(number))
    return f"cuDeviceGetCount {code}"


if __name__ == "__main__":
    device = coldfork.virtual.install("h100")
    print(f"before: driver {device.state}, {initialised()}")
    importlib.import_module("cutlass")
    print(f"imported cutlass: driver {device.state}, {initialised()}")
    print(f"jax imported: {'jax' in sys.modules}, torch imported: {'torch' in sys.modules}", flush=True)
    child = os.fork()
    if child == 0:
        print(f"a forked child: cuInit {ctypes.CDLL('libcuda.so.1').cuInit(0)}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
