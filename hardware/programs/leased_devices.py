"""Whether CUDA shows a process exactly the devices that were leased, and how a lease ends.

Argument: the driver library. Leases lie in a folder of this program's own.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import coldfork

CUDA = "CUDA_VISIBLE_DEVICES"
HOLD = (
    "import coldfork, signal\nwith coldfork.lease([0]):\n    print('held', flush=True)\n    signal.pause()\n"
)


def shown(library: str) -> list[str]:
    """The UUIDs of the devices that the driver shows this process."""
    driver, count = ctypes.CDLL(library), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    ask = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
    found = []
    for ordinal in range(count.value):
        content = ctypes.create_string_buffer(16)
        ask(content, ordinal)
        found.append(str(UUID(bytes=content.raw)))
    return found


def shown_under(library: str, variables: Mapping[str, str]) -> list[str]:
    """The same in a process with these variables."""
    command = [sys.executable, __file__, library, "shown"]
    done = subprocess.run(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def leased(library: str, setting: str | None) -> dict[str, Any]:
    """Return what a lease on the first device says, and what CUDA shows under it for this list."""
    os.environ.pop(CUDA, None)
    if setting is not None:
        os.environ[CUDA] = setting
    with coldfork.lease([0]) as lease:
        name = lease.variables[CUDA]
        seen = shown_under(library, lease.variables)
    return {"name": name, "shown": seen, "alike": [name.partition("-")[2]] == seen}


def ended() -> dict[str, Any]:
    """Whether a device is refused while another process holds it, and to be had when that was killed."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            with coldfork.lease([0]):
                refused = False
        except coldfork.LeaseError as error:
            refused = error.holders == (holder.pid,)
        holder.kill()
    with coldfork.lease([0]):
        return {"refused while held": refused, "free after a kill": True}


def main(library: str) -> dict[str, Any]:
    """Every way in which a caller may name its device."""
    callers = os.environ.get(CUDA)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COLDFORK_STATE_DIR"] = folder
        first = leased(library, callers)
        answers = {
            "as it was": first,
            "by UUID": leased(library, first["name"]),
            "by a shortened UUID": leased(library, first["name"][:12]),
            "again": ended(),
        }
        if callers is None:
            answers["by number"] = leased(library, "0")
        return answers


if __name__ == "__main__":
    print(json.dumps(shown(sys.argv[1]) if sys.argv[2:] == ["shown"] else main(sys.argv[1])))
