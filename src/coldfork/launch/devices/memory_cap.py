"""A cap on device memory, enforced by MPS or by a framework's own setting.

Nothing outside a process can limit its device memory, except MPS. So the cap is set in its environment,
before anything there reads it, and reports say what was set, not what is enforced.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldfork.launch.devices import management
from coldfork.launch.devices.management import Management
from coldfork.launch.devices.sight import sight
from coldfork.launch.plumbing.ask import ask
from coldfork.launch.supervisor.limits import parse_size
from coldfork.model.errors import LeaseError, UsageError

UNKNOWN = "neither MPS nor a framework with a cap of its own was found here"
_MIB = 1 << 20
_FRACTION = "per_process_memory_fraction"
#: The first that is set counts in torch's allocator for CUDA; its general allocator reads them in reverse
#: order.
_TORCH = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_JAX = "XLA_CLIENT_MEM_FRACTION"
_OLDER_JAX = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_JAX_ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
_USUAL_IN_JAX = 0.75
"""JAX's default share of a device; a cap is never a reason to take more."""
_CUPY = "CUPY_GPU_MEMORY_LIMIT"
_PIPES = "CUDA_MPS_PIPE_DIRECTORY"
_USUAL_PIPES = "nvidia-mps"
"""MPS's default folder among the temporary files."""
LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
_SECONDS = 20.0
#: The program that asks an interpreter; it imports no framework. The key is sought in torch's own headers,
#: because torch rejects a key that it does not know.
_PROGRAM = """
import glob, importlib.util, json, os

def folder(name):
    found = importlib.util.find_spec(name)
    return next(iter(found.submodule_search_locations or ()), None) if found else None

def holds(word, place, *names):
    if place is None:
        return False
    for path in glob.glob(os.path.join(glob.escape(place), *names)):
        with open(path, encoding="utf-8", errors="replace") as stream:
            if word in stream.read():
                return True
    return False

torch, jaxlib = folder("torch"), folder("jaxlib")
print(json.dumps({
    "torch": holds('"per_process_memory_fraction"', torch, "include", "c10", "*", "*AllocatorConfig.h"),
    "old_torch": torch is not None,
    "jax": jaxlib is not None,
    "new_jax": holds("'XLA_CLIENT_MEM_FRACTION'", jaxlib, "xla_client.py"),
    "cupy": folder("cupy") is not None,
}))
"""


@dataclass(frozen=True, slots=True)
class DeviceMemoryCap:
    """A cap, and what was found to set it with."""

    most: int
    """Bytes of each device, for each process."""
    variables: dict[str, str]
    by: tuple[str, ...] = ()
    """The programs that were told: `mps`, or frameworks."""
    why_not: str | None = None
    """Why nothing was told, or not everything that could have been."""

    def report(self) -> dict[str, Any]:
        """Return the report's entry about it."""
        return {"most": self.most, "by": list(self.by), "variables": self.variables, "why_not": self.why_not}


def cap(most: int, environment: Mapping[str, str], python: str) -> DeviceMemoryCap:
    """Return what sets this cap for a program with this environment and interpreter."""
    asked = management.management(environment)
    if not _serves(environment):
        return _by_frameworks(most, environment, asked, frameworks_of(python, environment))
    # MPS may tell frameworks that a device is that small, and a fraction of that would be too little.
    numbers = [str(number) for number in range(max(1, len(asked.devices)))]
    setting = _narrowed(environment.get(LIMIT), numbers, f"{max(1, most // _MIB)}M")
    return DeviceMemoryCap(most, {LIMIT: setting}, ("mps",))


def _serves(environment: Mapping[str, str]) -> bool:
    """Return whether MPS's control daemon runs where a program with this environment looks for it."""
    # Imported only here: a lease without MPS does not need it.
    from tempfile import gettempdir

    folder = Path(environment.get(_PIPES) or Path(environment.get("TMPDIR") or gettempdir(), _USUAL_PIPES))
    with suppress(OSError, ValueError):
        if (folder / "control").exists():
            pid = int((folder / "nvidia-cuda-mps-control.pid").read_text(encoding="ascii"))
            return Path("/proc", str(pid)).exists()
    return False


def _by_frameworks(
    most: int, environment: Mapping[str, str], asked: Management, there: Frameworks
) -> DeviceMemoryCap:
    told: dict[str, dict[str, str]] = {}
    fraction, why_not = _fraction(most, environment, asked)
    if there.torch and fraction is not None:
        told["torch"] = _for_torch(fraction, environment)
    if there.jax and environment.get(_JAX_ALLOCATOR, "").lower() == "platform":
        why_not = why_not or f"{_JAX_ALLOCATOR}=platform takes no cap"
    elif there.jax and fraction is not None:
        told["jax"] = _for_jax(fraction, environment, there)
    if there.cupy:
        setting = environment.get(_CUPY, "")
        # Its other form is a part of each device.
        less = setting.isdecimal() and int(setting)
        told["cupy"] = {_CUPY: str(min(most, less or most))}
    if not (there.torch or there.jax):
        unknown = f"this torch does not know {_FRACTION}" if there.old_torch else UNKNOWN
        why_not = None if told else unknown
    variables = {name: value for each in told.values() for name, value in each.items()}
    return DeviceMemoryCap(most, variables, tuple(told), why_not)


def _fraction(
    most: int, environment: Mapping[str, str], asked: Management
) -> tuple[float | None, str | None]:
    """Return the cap as a part of a device; None, and why, where the device's size is not known.

    With devices of several sizes it is the part of the largest: on none may it be more than what was asked
    for.
    """
    try:
        seen = sight(environment, asked, management.amd_identities()).devices
    except LeaseError as error:
        return None, f"cannot tell how large the devices are: {error}"
    if not seen:
        return None, "it sees no device"
    totals = [device.total for device in seen if device.total]
    if len(totals) < len(seen):
        return None, "cannot tell how large the devices are: NVML does not say"
    return min(1.0, most / max(totals)), None


def _for_torch(fraction: float, environment: Mapping[str, str]) -> dict[str, str]:
    """Return torch's setting for each of its variables that is set, merged with its other options."""
    names = [name for name in _TORCH if environment.get(name)] or [_TORCH[-1]]
    return {name: ",".join(_with_fraction(environment.get(name, ""), fraction)) for name in names}


def _with_fraction(setting: str, fraction: float) -> Iterator[str]:
    """Yield the options of a setting, with the smaller one of both fractions."""
    # A comma in brackets separates no options, but the parts are joined again in the end.
    for option in filter(None, setting.split(",")):
        key, _, value = option.partition(":")
        if key.strip() == _FRACTION:
            fraction = min(fraction, _number(value, fraction))
        else:
            yield option
    yield f"{_FRACTION}:{_written(fraction)}"


def _for_jax(fraction: float, environment: Mapping[str, str], there: Frameworks) -> dict[str, str]:
    usual = _JAX if there.new_jax else _OLDER_JAX
    # Setting both is an error in JAX.
    name = next((name for name in (_JAX, _OLDER_JAX) if environment.get(name)), usual)
    return {name: _written(min(fraction, _number(environment.get(name, ""), _USUAL_IN_JAX)))}


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _written(fraction: float) -> str:
    """Format a fraction, rounded down: a cap is never more than what was asked for."""
    return f"{int(fraction * 1_000_000) / 1_000_000:.6f}"


def of_workers(environment: Mapping[str, str], places: Sequence[int]) -> dict[str, str]:
    """Return what a worker on the devices at these positions needs beyond what it inherits.

    The memory limit names device numbers (`0=1G,1=512MB`), and a worker counts its own from 0. NVIDIA does
    not say whose numbers count, so each of the caller's entries stays, and where the worker's own number
    would mean another limit, the smaller one holds: a worker never gets more than its caller.
    """
    setting = environment.get(LIMIT)
    if not setting:
        return {}
    limits = dict(_entries(setting))
    own = {str(at): limits[str(place)] for at, place in enumerate(places) if str(place) in limits}
    merged = {number: _smaller(limit, own.get(number, limit)) for number, limit in limits.items()}
    merged |= {number: limit for number, limit in own.items() if number not in merged}
    said = ",".join(f"{number}={limit}" for number, limit in merged.items())
    return {} if merged == limits else {LIMIT: said}


def _narrowed(setting: str | None, numbers: Sequence[str], limit: str) -> str:
    """Return a setting in which none of these devices gives more than this limit or than before."""
    known = dict(_entries(setting or ""))
    merged = known | {number: _smaller(limit, known.get(number, limit)) for number in numbers}
    return ",".join(f"{number}={most}" for number, most in merged.items())


def _entries(setting: str) -> Iterator[tuple[str, str]]:
    for entry in setting.split(","):
        number, separator, limit = entry.strip().partition("=")
        if separator:
            yield number.strip(), limit.strip()


def _smaller(one: str, other: str) -> str:
    with suppress(UsageError):
        return one if parse_size(one) <= parse_size(other) else other
    return one


@dataclass(frozen=True, slots=True)
class Frameworks:
    """The frameworks that an interpreter has."""

    torch: bool = False
    """Whether there is a torch whose variable takes a fraction for the process."""
    old_torch: bool = False
    """Whether there is a torch without that."""
    jax: bool = False
    new_jax: bool = False
    """Whether there is a JAX that knows the newer of the two variables for a fraction."""
    cupy: bool = False


def frameworks_of(python: str, environment: Mapping[str, str]) -> Frameworks:
    """Return the frameworks of an interpreter; none where it does not answer."""
    try:
        done = ask([python, "-c", _PROGRAM], _SECONDS, environment)
        said = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, OSError, ValueError, IndexError):
        return Frameworks()
    return Frameworks(**said)
