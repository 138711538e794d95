"""Takes and gives back leases as it is told, one JSON object a line, and answers each."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coldfork.launch.devices.choice import FreeDevices, Lease
from coldfork.launch.devices.leases import take
from coldfork.model.errors import ColdforkError

held: list[Lease] = []


def taking(what: dict[str, Any]) -> dict[str, Any]:
    devices = what["devices"]
    wanted = FreeDevices(**devices) if isinstance(devices, dict) else devices
    try:
        leases = take(wanted, what.get("workers", 1), os.environ, share=what.get("share", 1))
    except ColdforkError as error:
        return {"error": str(error), "kind": type(error).__name__, "holders": getattr(error, "holders", ())}
    held.extend(leases)
    return {"variables": [dict(one.variables) for one in leases], "devices": [one.device for one in leases]}


def releasing(what: dict[str, Any]) -> dict[str, Any]:
    for lease in held:
        lease.release()
        lease.release()
    held.clear()
    return {}


def forking(what: dict[str, Any]) -> dict[str, Any]:
    """A child that outlives its parent, however it was made."""
    if what["how"] == "c":
        pid = ctypes.PyDLL(None).fork()
        if pid == 0:
            ctypes.PyDLL(None).pause()
            os._exit(0)
        return {"pid": pid}
    if what["how"] == "exec":
        program = "import signal; signal.pause()"
        return {"pid": subprocess.Popen([sys.executable, "-c", program], close_fds=False).pid}
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        kept = 0
        if what["how"] == "release":
            kept = kept_by_releasing()
        os.write(told, bytes([kept]))
        signal.pause()
        os._exit(0)
    (kept,) = os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return {"pid": pid, "kept": kept}


def kept_by_releasing() -> int:
    """Bytes of files that have the numbers of the locks by now, after the leases were given back."""
    files = [tempfile.TemporaryFile(buffering=0) for _ in range(30)]  # noqa: SIM115
    for file in files:
        file.write(b"x")
    releasing({})
    return sum(os.fstat(file.fileno()).st_size for file in files)


def counting(what: dict[str, Any]) -> dict[str, Any]:
    return {"open": len(list(Path("/proc/self/fd").iterdir()))}


DOES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "take": taking,
    "release": releasing,
    "fork": forking,
    "count": counting,
}

if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(DOES[asked["do"]](asked)), flush=True)
