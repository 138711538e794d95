"""A cap on device memory, enforced by MPS or by a framework's own setting.

Only MPS can limit a process's device memory from outside. So the cap is set in the environment, before the
process reads it, and reports say which settings were made, not whether they are enforced.
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
#: torch's CUDA allocator uses the first of these that is set; its general allocator tries them in reverse
#: order.
_TORCH = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_JAX = "XLA_CLIENT_MEM_FRACTION"
_OLDER_JAX = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_JAX_ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
_USUAL_IN_JAX = 0.75
"""JAX's default share of a device's memory; a cap never raises it."""
_CUPY = "CUPY_GPU_MEMORY_LIMIT"
_PIPES = "CUDA_MPS_PIPE_DIRECTORY"
_USUAL_PIPES = "nvidia-mps"
"""MPS's default folder among the temporary files."""
LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
_SECONDS = 20.0
#: The program that an interpreter runs to report its frameworks, without importing any. It looks for the key
#: in torch's own headers, because torch rejects an unknown key.
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
    """A cap on device memory, and the environment variables that enforce it."""

    most: int
    """The most bytes that each process may use on each device."""
    variables: dict[str, str]
    by: tuple[str, ...] = ()
    """The programs that the variables tell: `mps`, or names of frameworks."""
    why_not: str | None = None
    """Why some or all of the possible variables were not set."""

    def report(self) -> dict[str, Any]:
        """Return the entry about this cap for the report."""
        return {"most": self.most, "by": list(self.by), "variables": self.variables, "why_not": self.why_not}


def cap(most: int, environment: Mapping[str, str], python: str) -> DeviceMemoryCap:
    """Return the variables that enforce this cap for a program with this environment and interpreter."""
    asked = management.management(environment)
    if not _serves(environment):
        return _by_frameworks(most, environment, asked, frameworks_of(python, environment))
    # Only MPS is told: it may report the cap as the device's size, and a framework would then take a fraction
    # of the cap.
    numbers = [str(number) for number in range(max(1, len(asked.devices)))]
    setting = _narrowed(environment.get(LIMIT), numbers, f"{max(1, most // _MIB)}M")
    return DeviceMemoryCap(most, {LIMIT: setting}, ("mps",))


def _serves(environment: Mapping[str, str]) -> bool:
    """Return whether MPS's control daemon runs in the folder that a program in this environment would use."""
    # Imported here because a lease without MPS does not need it.
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
        # CuPy's setting is in bytes or, in its other form, a percentage of each device's memory.
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
    """Return the cap as a fraction of a device's memory; None, and the reason, if that size is unknown.

    If devices differ in size, it is the fraction of the largest, so that no device exceeds the cap.
    """
    try:
        seen = sight(environment, asked, management.amd_identities()).devices
    except LeaseError as error:
        return None, f"cannot tell how large the devices are: {error}"
    if not seen:
        return None, "it sees no device"
    totals = [device.total for device in seen if device.total]
    if len(totals) < len(seen):
        return None, "cannot tell how large the devices are: NVML does not report it"
    return min(1.0, most / max(totals)), None


def _for_torch(fraction: float, environment: Mapping[str, str]) -> dict[str, str]:
    """Return torch's variables with the fraction added; options that are already set are kept."""
    names = [name for name in _TORCH if environment.get(name)] or [_TORCH[-1]]
    return {name: ",".join(_with_fraction(environment.get(name, ""), fraction)) for name in names}


def _with_fraction(setting: str, fraction: float) -> Iterator[str]:
    """Yield the options of torch's setting, with this fraction or the setting's own, whichever is smaller."""
    # This also splits commas inside brackets, which is harmless because the parts are joined again.
    for option in filter(None, setting.split(",")):
        key, _, value = option.partition(":")
        if key.strip() == _FRACTION:
            fraction = min(fraction, _number(value, fraction))
        else:
            yield option
    yield f"{_FRACTION}:{_written(fraction)}"


def _for_jax(fraction: float, environment: Mapping[str, str], there: Frameworks) -> dict[str, str]:
    usual = _JAX if there.new_jax else _OLDER_JAX
    # JAX rejects two variables for the fraction, so the one that is already set is used.
    name = next((name for name in (_JAX, _OLDER_JAX) if environment.get(name)), usual)
    return {name: _written(min(fraction, _number(environment.get(name, ""), _USUAL_IN_JAX)))}


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _written(fraction: float) -> str:
    """Format a fraction, rounded down so that the cap is never exceeded."""
    return f"{int(fraction * 1_000_000) / 1_000_000:.6f}"


def of_workers(environment: Mapping[str, str], places: Sequence[int]) -> dict[str, str]:
    """Return the variables that a worker on the devices at these positions needs beyond those it inherits.

    The memory limit names device numbers (`0=1G,1=512MB`), and a worker counts its own devices from 0. NVIDIA
    does not say whether the caller's numbers or the worker's apply. So the caller's entries stay, and if a
    number stands for different limits, the smaller one is set: a worker never gets more than its caller.
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
    """Return MPS's setting with each of these devices limited to `limit`, or to its own lower limit."""
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
    """The frameworks that an interpreter can import, and which settings they support."""

    torch: bool = False
    """Whether torch is there, and its variable takes a fraction for the process."""
    old_torch: bool = False
    """Whether torch is there, but is too old to support that variable."""
    jax: bool = False
    new_jax: bool = False
    """Whether a JAX is there that knows the newer of the two variables for a fraction."""
    cupy: bool = False


def frameworks_of(python: str, environment: Mapping[str, str]) -> Frameworks:
    """Return the frameworks of an interpreter; none if it does not answer."""
    try:
        done = ask([python, "-c", _PROGRAM], _SECONDS, environment)
        said = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, OSError, ValueError, IndexError):
        return Frameworks()
    return Frameworks(**said)
