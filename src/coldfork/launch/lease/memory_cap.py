"""A cap on the memory of devices, by whatever holds a process to one: MPS, or a framework's own setting.

Nothing outside a process can hold it to so much of a device, save MPS. So the cap is set in its environment,
before anything there reads it, and what is said of it is what was set and not what is enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from coldfork.launch.devices import amd, asking, frameworks
from coldfork.launch.devices.frameworks import Frameworks
from coldfork.launch.devices.management import Management
from coldfork.launch.devices.sight import sight
from coldfork.launch.lease import mps
from coldfork.model.errors import LeaseError

UNKNOWN = "neither MPS nor a framework's own is known here"
_MIB = 1 << 20
_FRACTION = "per_process_memory_fraction"
#: The first that is set counts in torch's allocator for CUDA; its general one reads them the other way round.
_TORCH = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_JAX = "XLA_CLIENT_MEM_FRACTION"
_OLDER_JAX = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_JAX_ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
_USUAL_IN_JAX = 0.75
"""So much of a device it takes unless told; a cap is never a reason to take more."""
_CUPY = "CUPY_GPU_MEMORY_LIMIT"
_PIPES = "CUDA_MPS_PIPE_DIRECTORY"
_USUAL_PIPES = "nvidia-mps"
"""Its folder among the temporary files, unless that is named."""


@dataclass(frozen=True, slots=True)
class DeviceMemoryCap:
    """A cap, and what was found to set it with."""

    most: int
    """Bytes of each device, for each process."""
    variables: dict[str, str]
    by: tuple[str, ...] = ()
    """Who was told: `mps`, or frameworks."""
    why_not: str | None = None
    """Why nobody was, or not everybody who could have been."""

    def report(self) -> dict[str, Any]:
        """What the report says of it."""
        return {"most": self.most, "by": list(self.by), "variables": self.variables, "why_not": self.why_not}


def cap(most: int, environment: Mapping[str, str], python: str) -> DeviceMemoryCap:
    """What sets this cap for a program with this environment and interpreter."""
    return cap_of(
        most,
        environment,
        asking.management(environment),
        lambda: frameworks.of(python, environment),
    )


def cap_of(
    most: int, environment: Mapping[str, str], asked: Management, there: Callable[[], Frameworks]
) -> DeviceMemoryCap:
    """The same, by what NVML has said and which frameworks are there."""
    if _serves(environment):
        # It may tell frameworks that a device is so small, and a fraction of that would be too little.
        return DeviceMemoryCap(most, _by_mps(most, environment, len(asked.devices)), ("mps",))
    return _by_frameworks(most, environment, asked, there())


def _by_mps(most: int, environment: Mapping[str, str], count: int) -> dict[str, str]:
    numbers = [str(number) for number in range(max(1, count))]
    return {mps.LIMIT: mps.narrowed(environment.get(mps.LIMIT), numbers, f"{max(1, most // _MIB)}M")}


def _serves(environment: Mapping[str, str]) -> bool:
    """Whether the control daemon of MPS runs where a program with this environment looks for it."""
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
        told["cupy"] = {_CUPY: str(_smaller(most, environment.get(_CUPY, "")))}
    if not (there.torch or there.jax):
        why_not = None if told else _nobody(there)
    variables = {name: value for each in told.values() for name, value in each.items()}
    return DeviceMemoryCap(most, variables, tuple(told), why_not)


def _nobody(there: Frameworks) -> str:
    return f"this torch knows no {_FRACTION}" if there.old_torch else UNKNOWN


def _smaller(most: int, setting: str) -> int:
    """The smaller one of a cap and of CuPy's own setting, whose other form is a part of each device."""
    return min(most, int(setting)) if setting.isdecimal() and int(setting) else most


def _fraction(
    most: int, environment: Mapping[str, str], asked: Management
) -> tuple[float | None, str | None]:
    """The part of a device that this is; None, and why, where its size is not known.

    Of devices of several sizes it is the part of the largest: of none it may be more than what was asked for.
    """
    try:
        seen = sight(environment, asked, amd.identities()).devices
    except LeaseError as error:
        return None, f"how large the devices are cannot be told: {error}"
    if not seen:
        return None, "it sees no device"
    totals = [device.total for device in seen if device.total]
    if len(totals) < len(seen):
        return None, "how large the devices are cannot be told: NVML does not say"
    return min(1.0, most / max(totals)), None


def _for_torch(fraction: float, environment: Mapping[str, str]) -> dict[str, str]:
    """Its setting in each variable that is there already, beside what else that says."""
    names = [name for name in _TORCH if environment.get(name)] or [_TORCH[-1]]
    return {name: ",".join(_with_fraction(environment.get(name, ""), fraction)) for name in names}


def _with_fraction(setting: str, fraction: float) -> Iterator[str]:
    """The options of a setting, with the smaller one of both fractions."""
    # A comma in brackets parts nothing, and no harm is done: what is taken apart there is joined again.
    for option in filter(None, setting.split(",")):
        key, _, value = option.partition(":")
        if key.strip() == _FRACTION:
            fraction = min(fraction, _number(value, fraction))
        else:
            yield option
    yield f"{_FRACTION}:{_written(fraction)}"


def _for_jax(fraction: float, environment: Mapping[str, str], there: Frameworks) -> dict[str, str]:
    usual = _JAX if there.new_jax else _OLDER_JAX
    # Both together are an error in it.
    name = next((name for name in (_JAX, _OLDER_JAX) if environment.get(name)), usual)
    return {name: _written(min(fraction, _number(environment.get(name, ""), _USUAL_IN_JAX)))}


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _written(fraction: float) -> str:
    """Rounded down: a cap is never more than what was asked for."""
    return f"{int(fraction * 1_000_000) / 1_000_000:.6f}"
