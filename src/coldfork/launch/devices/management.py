"""Ask NVML, the driver and the kernel's list of AMD devices about the devices of this machine.

NVML and the driver are asked in a separate process, because a broken driver may hang or kill it, and because
its end undoes whatever their libraries did. This process loads none of their libraries, nor AMD's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldfork.launch.devices import answers
from coldfork.launch.plumbing.ask import ask

_SECONDS = 10.0
_TOUCH_SECONDS = 60.0
"""Long, because the first context on a large machine takes ten seconds and more."""
_TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a divided (MIG) device."""

    uuid: str
    numbers: tuple[int | None, int | None] = (None, None)
    """The numbers of the GPU instance, and of the compute instance in it."""
    memory_total: int | None = None
    memory_free: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One device as NVML describes it; a value is None if NVML did not report it."""

    index: int
    name: str = ""
    uuid: str = ""
    compute_mode: int | None = None
    persistence: bool | None = None
    mig: bool | None = None
    mig_pending: bool | None = None
    instances: tuple[Instance, ...] | None = None
    memory_total: int | None = None
    memory_free: int | None = None
    memory_used: int | None = None
    processes: tuple[int, ...] = ()
    """The processes that compute on the device, as far as NVML shows them here."""

    @property
    def mig_devices(self) -> int | None:
        """Return the number of instances that the device is divided into."""
        return None if self.instances is None else len(self.instances)


@dataclass(frozen=True, slots=True)
class Touched:
    """The result of waking the devices in a separate process."""

    code: int
    """The return code of `cuInit`, or of the first later call that failed; 0 if none did."""
    step: str
    """The call that returned it."""
    devices: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Management:
    """The answers of NVML and the driver; if a query failed, its error is one sentence, and later values are
    missing.
    """

    nvml_error: str | None = None
    nvml_loaded: bool = False
    nvml_code: int | None = None
    driver: str | None = None
    """The driver's version, such as 570.86.15."""
    cuda: int | None = None
    """The CUDA version that the driver supports, according to NVML or libcuda: 12080 is 12.8."""
    libcuda_error: str | None = None
    libcuda_loaded: bool = False
    devices: tuple[Device, ...] = ()
    unanswered: str | None = None
    """Why the process that asks gave no answer at all."""

    @property
    def cuda_version(self) -> tuple[int, int] | None:
        """Return the major and minor number of the CUDA version."""
        return None if self.cuda is None else (self.cuda // 1000, self.cuda % 1000 // 10)


def cuda_name(version: tuple[int, int]) -> str:
    """Format a CUDA version like `12.8`."""
    return f"{version[0]}.{version[1]}"


class NoAnswerError(Exception):
    """The process that queries the devices did not answer; the message says why."""


def management(variables: Mapping[str, str]) -> Management:
    """Return the answers of NVML and the driver, without waking any device."""
    try:
        said = _of_virtual_device() or _said(variables, _SECONDS)
    except NoAnswerError as error:
        return Management(unanswered=str(error))
    return Management(**said | {"devices": tuple(map(_device, said.get("devices", ())))})


def _of_virtual_device() -> dict[str, Any] | None:
    """Return the answers of this process's virtual device, which no other process could give; None without
    one.
    """
    room = sys.modules.get("coldfork.virtual.installation")
    device = None if room is None else room.installed()
    if device is None or device.library is None:
        return None
    return answers.both()


def _device(said: dict[str, Any]) -> Device:
    listed = said.pop("instances", None)
    instances = None if listed is None else tuple(map(_instance, listed))
    return Device(**said | {"processes": tuple(said.get("processes", ()))}, instances=instances)


def _instance(said: dict[str, Any]) -> Instance:
    gpu, compute = said["numbers"]
    return Instance(said["uuid"], (gpu, compute), said["memory_total"], said["memory_free"])


def touched(variables: Mapping[str, str]) -> Touched:
    """Wake the devices in a separate process that ends at once, and return the result."""
    said = _said(variables, _TOUCH_SECONDS, "touch")
    return Touched(said["code"], said["step"], tuple(said["devices"]), said["seconds"])


def _said(variables: Mapping[str, str], seconds: float, *words: str) -> dict[str, Any]:
    file = Path(answers.__file__)
    try:
        done = ask([sys.executable, "-I", "-S", str(file), *words], seconds, variables)
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"the driver did not answer within {seconds:.0f} seconds") from None
    except OSError as error:
        raise NoAnswerError(f"cannot start a process: {error.strerror}") from None
    if done.returncode < 0:
        raise NoAnswerError(f"the process that asked the driver was killed by signal {-done.returncode}")
    try:
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it printed nothing"])[-1]
        raise NoAnswerError(f"the process that asked the driver failed: {last}") from None
    return said


def amd_identities(topology: Path = _TOPOLOGY) -> tuple[str, ...]:
    """Return an identity for each AMD device, in the order in which ROCm counts them."""
    found: list[str] = []
    with suppress(OSError):
        for node in sorted(topology.iterdir(), key=lambda one: int(one.name)):
            properties = _properties(node / "properties")
            # A node without SIMD units is a processor, not a device.
            if properties.get("simd_count", 0):
                found.append(_amd_name(properties, len(found)))
    return tuple(found)


def _properties(file: Path) -> dict[str, int]:
    pairs = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _amd_name(properties: dict[str, int], number: int) -> str:
    """Return an AMD device's name for ROCR_VISIBLE_DEVICES or, without a unique id, a name by number."""
    unique = properties.get("unique_id", 0)
    return f"gpu-{unique:016x}" if unique else f"amd-{number}"
