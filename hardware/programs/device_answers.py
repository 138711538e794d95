"""A device's answers about itself, field by field, through the driver, NVML and torch.

Arguments: the driver library, the NVML library, and the name of a virtual device to install first or "-".
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

MOST_ATTRIBUTES = 150


def through_driver(library: str) -> dict[str, Any]:
    """Name, memory and every attribute that the driver knows."""
    driver = ctypes.CDLL(library)
    answers: dict[str, Any] = {"cuInit": driver.cuInit(0)}
    count, version, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    answers["count code"] = driver.cuDeviceGetCount(ctypes.byref(count))
    answers["count"] = count.value
    driver.cuDriverGetVersion(ctypes.byref(version))
    answers["driver version"] = version.value
    answers["get code"] = driver.cuDeviceGet(ctypes.byref(device), 0)
    answers["get beyond the last code"] = driver.cuDeviceGet(ctypes.byref(device), count.value)
    name, memory = ctypes.create_string_buffer(200), ctypes.c_size_t()
    driver.cuDeviceGetName(name, 200, 0)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), 0)
    answers |= {"name": name.value.decode(), "memory": memory.value}
    for attribute in range(1, MOST_ATTRIBUTES):
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0:
            answers[f"attribute {attribute}"] = value.value
    return answers


def through_management(library: str) -> dict[str, Any]:
    """Return NVML's answers, or the error that says it is not there."""
    try:
        nvml = ctypes.CDLL(library)
    except OSError as problem:
        return {"missing": str(problem)}
    answers: dict[str, Any] = {"nvmlInit_v2": nvml.nvmlInit_v2()}
    count, handle, name = ctypes.c_uint(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
    major, minor = ctypes.c_int(), ctypes.c_int()
    answers["count code"] = nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    answers["handle code"] = nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
    nvml.nvmlDeviceGetName(handle, name, 96)
    nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    memory = (ctypes.c_ulonglong * 3)()
    nvml.nvmlDeviceGetMemoryInfo(handle, memory)
    return {
        **answers, "count": count.value, "name": name.value.decode(),
        "capability": [major.value, minor.value], "total memory": memory[0],
    }  # fmt: skip


def through_torch() -> dict[str, Any]:
    """Return torch's answers, or the error that says it is not there."""
    try:
        import torch
    except ImportError as problem:
        return {"missing": str(problem)}
    answers: dict[str, Any] = {"version": torch.__version__, "available": torch.cuda.is_available()}
    if not answers["available"]:
        return answers
    properties = torch.cuda.get_device_properties(0)
    for field in sorted(name for name in dir(properties) if not name.startswith("_")):
        value = getattr(properties, field)
        if isinstance(value, (int, float, str, bool)):
            answers[f"properties.{field}"] = value
    answers |= {
        "name": torch.cuda.get_device_name(0),
        "capability": list(torch.cuda.get_device_capability(0)),
        "current device": torch.cuda.current_device(),
        "bf16": torch.cuda.is_bf16_supported(),
        "memory allocated": torch.cuda.memory_allocated(),
        "accelerator": torch.accelerator.is_available() if hasattr(torch, "accelerator") else None,
    }
    return answers


def main(driver: str, management: str, virtual: str) -> None:
    """Print the answers of all three."""
    if virtual != "-":
        from coldfork.virtual import install

        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
        install(virtual)
    # NVML first: it must not need the driver.
    answers = {"management": through_management(management), "driver": through_driver(driver)}
    print(json.dumps({**answers, "torch": through_torch()}))


main(*sys.argv[1:4])
