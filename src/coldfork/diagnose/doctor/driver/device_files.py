"""Whether this user may open the device files under `/dev`.

Looks at `/dev/nvidiactl`, `/dev/nvidia-uvm` and `/dev/nvidia0` and so on, at `/dev/kfd` and
`/dev/dri/renderD*` of AMD, and at `/dev/dxg` in WSL. None is opened: opening one may load the driver's
firmware.

- **ok**: all may be read and written.
- **warn**: only some of the devices may be used.
- **fail**: a file that every program needs is missing or may not be opened, or no device may be used.
- **skipped**: there is no driver that would need one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn

_DEVICE = re.compile(r"^nvidia\d+$")
_RENDERER = re.compile(r"^renderD\d+$")
_GROUPS = "add this user to the file's group: ls -l /dev/{name} shows it; run usermod -aG GROUP USER"
_CONTAINER = "in a container: start it with its devices (docker run --gpus all)"


def examine(facts: Facts) -> Answer:
    """Judge the access to the device files of each vendor."""
    files = facts.files
    if files.exists("/dev/dxg"):
        return _judged(facts, ["dxg"], [])
    nvidia = [name for name in files.names("/dev") if _DEVICE.match(name)]
    if nvidia or files.exists("/dev/nvidiactl") or files.exists("/proc/driver/nvidia/version"):
        return _judged(facts, ["nvidiactl", "nvidia-uvm"], nvidia)
    if files.exists("/dev/kfd"):
        renderers = [f"dri/{name}" for name in files.names("/dev/dri") if _RENDERER.match(name)]
        return _judged(facts, ["kfd"], renderers)
    return skipped("there is no accelerator device file here")


def _judged(facts: Facts, shared: list[str], devices: list[str]) -> Answer:
    count = len(shared) + len(devices)
    well = ok(f"{count} device file{'' if count == 1 else 's'} may be read and written")
    return together((*_shared(facts, shared), *_devices(facts, shared, devices)), well)


def _shared(facts: Facts, names: list[str]) -> Iterator[Answer]:
    for name in names:
        if not facts.files.exists(f"/dev/{name}"):
            modprobe = (
                ("as root: nvidia-modprobe -c 0 -u creates the file",) if name.startswith("nvidia") else ()
            )
            yield fail(f"/dev/{name} is missing", *modprobe, _CONTAINER)
        elif not facts.files.may_use(f"/dev/{name}"):
            yield fail(f"/dev/{name} is closed to this user", _GROUPS.format(name=name))


def _devices(facts: Facts, shared: list[str], names: list[str]) -> Iterator[Answer]:
    if not names and shared != ["dxg"]:
        yield fail("no device has a device file", _CONTAINER)
    closed = [name for name in names if not facts.files.may_use(f"/dev/{name}")]
    if closed:
        which = ", ".join(f"/dev/{name}" for name in closed)
        said = f"{which} {'is' if len(closed) == 1 else 'are'} closed to this user"
        tell = fail if len(closed) == len(names) else warn
        yield tell(said, _GROUPS.format(name=closed[0]))
