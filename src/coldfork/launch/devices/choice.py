"""How users choose devices: by positions in the list that their process sees, by identifiers, or by a lease.

Code that only passes a choice or a lease on need not load the modules that find and take devices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from coldfork.launch.supervisor.limits import parse_size
from coldfork.model.errors import UsageError

CUDA = "CUDA_VISIBLE_DEVICES"
HIP = "HIP_VISIBLE_DEVICES"
ROCR = "ROCR_VISIBLE_DEVICES"
#: CUDA and HIP read this as "no device"; an empty value could be mistaken for an unset variable.
NONE = "-1"
AUTO = ("auto", "free")


@dataclass(frozen=True, slots=True)
class Lease:
    """The devices of one worker, reserved until they are given back or this process ends."""

    device: str
    """For people and reports: `GPU-8f1c... (place 3)`."""
    variables: Mapping[str, str]
    """The variables for the worker's environment, such as `{"CUDA_VISIBLE_DEVICES": "GPU-8f1c..."}`."""
    _give_back: Callable[[], None] = field(repr=False, compare=False)

    def release(self) -> None:
        """Give the devices back; do nothing on a second call, or in a process forked from the holder."""
        self._give_back()

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class FreeDevices:
    """A request for devices with enough free memory; those with the most free memory are taken first."""

    min_free: int | str = 0
    """The memory that must be free: a number of bytes, or a text such as `"20 GiB"`."""
    count: int | None = None
    """The number of devices for all workers together; None means one for each worker."""

    @property
    def bytes(self) -> int:
        """Return how many bytes of memory must be free on each device."""
        return parse_size(self.min_free, "min_free") if self.min_free else 0


DevicesWanted: TypeAlias = int | str | Sequence[int | str] | FreeDevices | None


def variable(environment: Mapping[str, str]) -> str:
    """Return the name of the environment variable that says which devices a process sees.

    On ROCm two variables are read; the process's own choice says which of them counts there.
    """
    return HIP if HIP in environment and CUDA not in environment else CUDA


def listed(text: str) -> list[str]:
    """Return the devices listed in a variable's value, up to the first invalid entry."""
    found: list[str] = []
    for entry in text.split(","):
        device = entry.strip()
        if not device or device.startswith("-"):
            break
        found.append(device)
    return found


def chosen(devices: Sequence[int | str] | str) -> list[int | str]:
    """Return the chosen devices without duplicates, as positions (numbers) or identifiers (strings)."""
    if isinstance(devices, bool | int):
        raise UsageError(
            f"devices={devices!r} could mean one device or that many; give a list, such as [{devices:d}]"
        )
    parts: Sequence[int | str] = devices.split(",") if isinstance(devices, str) else devices
    wanted: list[int | str] = []
    for part in parts:
        device = part.strip() if isinstance(part, str) else part
        if device in ("", "none"):
            continue
        if isinstance(device, str) and device.isdecimal():
            device = int(device)
        if device in wanted:
            raise UsageError(f"devices={devices!r} names {device!r} twice")
        wanted.append(device)
    return wanted


def entry(device: int | str, callers: list[str] | None, name: str) -> str:
    """Return the entry for one device of the caller's list, which is None if the caller's variable is not
    set.
    """
    if isinstance(device, int):
        if device < 0:
            raise UsageError(f"there is no device {device}: devices are counted from 0")
        if callers is None:
            return str(device)
        if device >= len(callers):
            seen = f"{len(callers)} device{'' if len(callers) == 1 else 's'}"
            raise UsageError(
                f"there is no device {device} among those of this process: {name} shows {seen} "
                f"({','.join(callers) or 'none'})"
            )
        return callers[device]
    if "," in device or device.startswith("-"):
        raise UsageError(f"{device!r} is not a device")
    if callers is not None and not any(same(device, known) for known in callers):
        raise UsageError(
            f"device {device} is not among those of this process: {name} shows {','.join(callers) or 'none'}"
        )
    return device


def same(device: str, known: str) -> bool:
    """Return whether a name stands for a known device; the known device's own name may be shortened."""
    return device == known or (not known.isdecimal() and device.startswith(known))
