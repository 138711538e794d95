"""The answers of coldfork's probes about this process, and the cost of asking.

Arguments: the driver library. The process is examined before the driver is loaded, while it is cold, awake,
with a context, and in a forked child.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from typing import Any

from coldfork.observe import states


def cuda() -> dict[str, Any]:
    """The state that coldfork sees."""
    found = next(one for one in states.examine() if one.accelerator == "cuda")
    return {"status": str(found.status), "level": found.level and str(found.level), "reason": found.reason}


def microseconds(poller: states.Poller, rounds: int = 2000) -> float:
    """Return the microseconds of one poll, the best of five."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(rounds):
            poller.awake()
        best = min(best, (time.perf_counter() - started) / rounds * 1e6)
    return round(best, 3)


def child_state() -> dict[str, Any]:
    """Return a forked child's view of its own state."""
    read, write = os.pipe()
    states.remember_for_children()
    child = os.fork()
    if child == 0:
        os.write(write, json.dumps(cuda()).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        said: dict[str, Any] = json.loads(stream.read() or b"{}")
    os.waitpid(child, 0)
    return said


def main(library: str) -> None:
    """Print states and costs."""
    poller = states.Poller()
    seen: dict[str, Any] = {"absent": cuda(), "absent us": microseconds(poller)}
    driver = ctypes.CDLL(library)
    seen |= {"cold": cuda(), "cold us": microseconds(poller), "child of cold": child_state()}
    driver.cuInit(0)
    seen |= {"awake": cuda(), "awake us": microseconds(poller), "polled": [list(p) for p in poller.awake()]}
    context = ctypes.c_void_p()
    device = ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    seen |= {"context": cuda(), "context us": microseconds(poller), "child of awake": child_state()}
    print(json.dumps(seen))


main(sys.argv[1])
