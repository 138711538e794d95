"""A program that coldfork starts to query NVML and the driver; it prints their answers as JSON.

It calls `cuInit` only when given `touch` on its command line; `cuDriverGetVersion` does not need it. It
imports nothing of coldfork, because it runs with `-I -S`.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from typing import Any

_NAME_LENGTH = 96


def management() -> dict[str, Any]:
    """Return NVML's answers about the driver and its devices."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return {"nvml_error": str(error)}
    code = nvml.nvmlInit_v2()
    if code:
        return {"nvml_loaded": True, "nvml_error": _message(nvml, code), "nvml_code": code}
    try:
        return {"nvml_loaded": True, "nvml_code": 0, **_driver(nvml), "devices": _devices(nvml)}
    finally:
        nvml.nvmlShutdown()


def _driver(nvml: Any) -> dict[str, Any]:
    version, cuda = ctypes.create_string_buffer(80), ctypes.c_int()
    said = nvml.nvmlSystemGetDriverVersion(version, 80) == 0
    served = _ask(nvml, "nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(cuda)) == 0
    return {
        "driver": version.value.decode("ascii", "replace") if said else None,
        "cuda": cuda.value if served else None,
    }


def _devices(nvml: Any) -> list[dict[str, Any]]:
    count = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return []
    return [_device(nvml, index) for index in range(count.value)]


def _device(nvml: Any, index: int) -> dict[str, Any]:
    handle = ctypes.c_void_p()
    if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)):
        return {"index": index}
    mig = _numbers(nvml, "nvmlDeviceGetMigMode", handle, 2)
    persistence = _numbers(nvml, "nvmlDeviceGetPersistenceMode", handle)
    return {
        "index": index,
        "name": _text(nvml, "nvmlDeviceGetName", handle),
        "uuid": _text(nvml, "nvmlDeviceGetUUID", handle),
        "compute_mode": (_numbers(nvml, "nvmlDeviceGetComputeMode", handle) or [None])[0],
        "persistence": bool(persistence[0]) if persistence else None,
        "mig": bool(mig[0]) if mig else None,
        "mig_pending": bool(mig[1]) if mig else None,
        "instances": _instances(nvml, handle) if mig and mig[0] else None,
        **_memory(nvml, handle),
        "processes": _processes(nvml, handle),
    }


def _memory(nvml: Any, handle: Any) -> dict[str, Any]:
    memory = (ctypes.c_ulonglong * 3)()
    known = _ask(nvml, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory)) == 0
    total, free, used = memory if known else (None, None, None)
    return {"memory_total": total, "memory_free": free, "memory_used": used}


def _instances(nvml: Any, handle: Any) -> list[dict[str, Any]] | None:
    """Return the instances of a divided (MIG) device; older drivers named instances by their numbers."""
    most = ctypes.c_uint()
    if _ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(most)):
        return None
    found = []
    for index in range(most.value):
        instance = ctypes.c_void_p()
        asked = (handle, ctypes.c_uint(index), ctypes.byref(instance))
        if _ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", *asked) == 0:
            found.append(_instance(nvml, instance))
    return found


def _instance(nvml: Any, handle: Any) -> dict[str, Any]:
    numbers = [
        _numbers(nvml, f"nvmlDeviceGet{kind}InstanceId", handle) or [None] for kind in ("Gpu", "Compute")
    ]
    return {
        "uuid": _text(nvml, "nvmlDeviceGetUUID", handle),
        "numbers": [number[0] for number in numbers],
        **_memory(nvml, handle),
    }


class _Process(ctypes.Structure):
    """The structure `nvmlProcessInfo_t`, in its layout since NVML 11."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def _processes(nvml: Any, handle: Any) -> list[int]:
    """Return the processes that compute on a device, as far as NVML lists them; a container hides some."""
    most = 256
    count, found = ctypes.c_uint(most), (_Process * most)()
    asked = (handle, ctypes.byref(count), ctypes.byref(found))
    if _ask(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", *asked):
        return []
    return [process.pid for process in found[: min(count.value, most)]]


def _numbers(nvml: Any, name: str, handle: Any, count: int = 1) -> list[Any]:
    values = [ctypes.c_uint() for _ in range(count)]
    code = _ask(nvml, name, handle, *map(ctypes.byref, values))
    return [] if code else [value.value for value in values]


def _text(nvml: Any, name: str, handle: Any) -> str:
    buffer = ctypes.create_string_buffer(_NAME_LENGTH)
    return "" if _ask(nvml, name, handle, buffer, _NAME_LENGTH) else buffer.value.decode("utf-8", "replace")


def _ask(library: Any, name: str, *arguments: Any) -> int:
    """Call a library function and return its code; -1 if the library is too old to have the function."""
    function = getattr(library, name, None)
    return -1 if function is None else int(function(*arguments))


def _message(nvml: Any, code: int) -> str:
    nvml.nvmlErrorString.restype = ctypes.c_char_p
    said: bytes | None = nvml.nvmlErrorString(code)
    return (said or b"").decode("utf-8", "replace") or f"error {code}"


def driver() -> dict[str, Any]:
    """Return the CUDA version that libcuda supports; libcuda is loaded but not initialised."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"libcuda_error": str(error)}
    version = ctypes.c_int()
    if code := cuda.cuDriverGetVersion(ctypes.byref(version)):
        return {"libcuda_loaded": True, "libcuda_error": f"cuDriverGetVersion returned {code}"}
    return {"libcuda_loaded": True, "cuda": version.value}


def both() -> dict[str, Any]:
    """Return the answers of NVML and the driver; for the CUDA version, NVML's answer is preferred."""
    nvml, cuda = management(), driver()
    return {**cuda, **nvml, "cuda": nvml.get("cuda") or cuda.get("cuda")}


def touch() -> dict[str, Any]:
    """Wake every device that this process sees, and report the result."""
    began = time.monotonic()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"code": -1, "step": str(error), "devices": [], "seconds": 0.0}
    names: list[str] = []
    step, code = _woken(cuda, names)
    return {"code": code, "step": step, "devices": names, "seconds": time.monotonic() - began}


def _woken(cuda: Any, names: list[str]) -> tuple[str, int]:
    """Give each named device a context; append the names that got one to `names`, and return the first failed
    call and its code.
    """
    if code := cuda.cuInit(0):
        return "cuInit", code
    count = ctypes.c_int()
    if code := cuda.cuDeviceGetCount(ctypes.byref(count)):
        return "cuDeviceGetCount", code
    for ordinal in range(count.value):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        name = ctypes.create_string_buffer(_NAME_LENGTH)
        if code := cuda.cuDeviceGet(ctypes.byref(device), ordinal):
            return f"cuDeviceGet({ordinal})", code
        cuda.cuDeviceGetName(name, _NAME_LENGTH, device)
        if code := cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
            return f"cuDevicePrimaryCtxRetain({ordinal})", code
        getattr(cuda, "cuDevicePrimaryCtxRelease_v2", cuda.cuDevicePrimaryCtxRelease)(device)
        names.append(name.value.decode("utf-8", "replace"))
    return "", 0


if __name__ == "__main__":
    print(json.dumps(touch() if sys.argv[1:] == ["touch"] else both()))  # noqa: T201
