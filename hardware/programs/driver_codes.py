"""The return codes of the driver's functions before and after `cuInit`, and in forked children.

Arguments: the driver library.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable

Codes = dict[str, int]


class Driver:
    """The functions that are asked."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def initialise(self) -> int:
        """Return the code of `cuInit(0)`."""
        return int(self._library.cuInit(0))

    def codes(self) -> Codes:
        """Return the codes of the functions that a probe might call."""
        number, context = ctypes.c_int(), ctypes.c_void_p()
        flags, active, version = ctypes.c_uint(), ctypes.c_int(), ctypes.c_int()
        asked: dict[str, Callable[[], object]] = {
            "cuDeviceGetCount": lambda: self._library.cuDeviceGetCount(ctypes.byref(number)),
            "cuCtxGetCurrent": lambda: self._library.cuCtxGetCurrent(ctypes.byref(context)),
            "cuDevicePrimaryCtxGetState": lambda: self._library.cuDevicePrimaryCtxGetState(
                0, ctypes.byref(flags), ctypes.byref(active)
            ),
            "cuDriverGetVersion": lambda: self._library.cuDriverGetVersion(ctypes.byref(version)),
        }
        return {name: int(str(ask())) for name, ask in asked.items()}

    def primary_is_active(self) -> bool:
        """Whether the first device has its primary context; only for an initialised driver."""
        flags, active = ctypes.c_uint(), ctypes.c_int()
        self._library.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
        return bool(active.value)


def in_child(work: Callable[[], Codes]) -> Codes:
    """Return the result of `work` in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, json.dumps(work()).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        found = json.loads(stream.read() or b"{}")
    os.waitpid(child, 0)
    return dict(found)


def with_initialising(driver: Driver) -> Codes:
    """The codes before and after the child's own `cuInit`."""
    before = driver.codes()
    return {
        **before,
        "cuInit": driver.initialise(),
        "cuDeviceGetCount after": driver.codes()["cuDeviceGetCount"],
    }


def main(library: str) -> None:
    """Print the table."""
    driver = Driver(library)
    cold = driver.codes()
    virgin_child = in_child(lambda: with_initialising(driver))
    started = time.perf_counter()
    initialised = driver.initialise()
    seconds = time.perf_counter() - started
    awake = driver.codes()
    table = {
        "cold": cold,
        "child of cold": virgin_child,
        "cuInit": initialised,
        "cuInit seconds": seconds,
        "awake": awake,
        "primary context after cuInit": driver.primary_is_active(),
        "child of awake": in_child(lambda: with_initialising(driver)),
        "awake after the fork": driver.codes(),
    }
    print(json.dumps(table))


main(sys.argv[1])
