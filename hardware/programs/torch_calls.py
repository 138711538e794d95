"""The state that torch's calls leave behind, each made in a child forked after nothing but importing torch.

Arguments: the driver library, and a JSON list of [dotted name, arguments]. Every child answers with the level
that the driver reached, what torch says of itself, and what a child of that child meets.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from functools import reduce
from typing import Any

NOT_LOADED = None


def code(library: str) -> int | None:
    """Return the code of `cuDeviceGetCount` without loading the library that has it."""
    try:
        loaded = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return NOT_LOADED
    return int(loaded.cuDeviceGetCount(ctypes.byref(ctypes.c_int())))


def level(library: str) -> str:
    """How deep the driver is awake in this process."""
    answered = code(library)
    if answered is NOT_LOADED or answered == 3:
        return "cold"
    if answered != 0:
        return f"code {answered}"
    loaded = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    count, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    loaded.cuDeviceGetCount(ctypes.byref(count))
    for ordinal in range(count.value):
        loaded.cuDevicePrimaryCtxGetState(ordinal, ctypes.byref(flags), ctypes.byref(active))
        if active.value:
            return "context"
    return "driver"


def grandchild(torch: Any) -> str:
    """Return the error of a child forked now when it first uses the device."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.cuda.current_device()
            met = "works"
        except BaseException as error:
            met = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        os.write(write, met.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        met = stream.read().decode()
    os.waitpid(child, 0)
    return met or "died"


def observe(torch: Any, library: str, name: str, arguments: list[Any]) -> dict[str, Any]:
    """Make one call and look at what it left."""
    try:
        function = reduce(getattr, name.split(".")[1:], torch)
        result, error = repr(function(*arguments))[:200], None
    except BaseException as problem:
        result, error = None, f"{type(problem).__name__}: {problem}"[:300]
    return {
        "level": level(library),
        "result": result,
        "error": error,
        "is_initialized": torch.cuda.is_initialized(),
        "child": grandchild(torch),
    }


def main(library: str, calls: list[tuple[str, list[Any]]]) -> None:
    """Print what every call left."""
    import torch

    found: dict[str, Any] = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "after import": level(library),
    }
    answers: dict[str, Any] = {}
    for name, arguments in calls:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.write(write, json.dumps(observe(torch, library, name, arguments)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as stream:
            said = stream.read()
        status = os.waitpid(child, 0)[1]
        answers[name] = json.loads(said) if said else {"level": f"died, status {status}"}
    print(json.dumps({**found, "calls": answers}))


main(sys.argv[1], json.loads(sys.argv[2]))
