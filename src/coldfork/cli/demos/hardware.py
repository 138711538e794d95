"""The `hardware.py` of the programs: finds the device's generation, by torch or else by the driver."""

from __future__ import annotations

from coldfork.cli.demos.steps import Machine

TORCH = '''\
import torch


def compute_capability():
    """The generation of the GPU; asking initialises CUDA in the process that asks."""
    return torch.cuda.get_device_capability()
'''

DRIVER = '''\
import ctypes


def compute_capability():
    """The generation of the GPU; asking initialises CUDA in the process that asks."""
    driver = ctypes.CDLL("libcuda.so.1")
    status = driver.cuInit(0)
    if status != 0:
        raise RuntimeError(f"cuInit failed with CUDA error {status}")
    major, minor = ctypes.c_int(), ctypes.c_int()
    driver.cuDeviceComputeCapability(ctypes.byref(major), ctypes.byref(minor), 0)
    return major.value, minor.value
'''

CONFIGURATION = """\
[tool.coldfork]
# What torch's functions do to a device is known; its source need not be read for it.
site-packages = ["packages"]
"""


BESIDE_TORCH = {"pyproject.toml": CONFIGURATION, "packages/README": "Nothing is installed here.\n"}


def files(machine: Machine) -> dict[str, str]:
    """Return `hardware.py` and the other files that it needs."""
    return {"hardware.py": TORCH, **BESIDE_TORCH} if machine.torch else {"hardware.py": DRIVER}


def crash(machine: Machine) -> str:
    """Return the message of the error that ends a forked child."""
    if machine.torch:
        return "Cannot re-initialize CUDA in forked subprocess"
    return "cuInit failed with CUDA error 3"
