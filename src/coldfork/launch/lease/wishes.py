"""What a caller wants: which devices, or how many and how empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from coldfork.launch.devices import choice
from coldfork.launch.devices.choice import listed, same
from coldfork.launch.devices.sight import Seen, Sight
from coldfork.launch.supervisor.limits import parse_size
from coldfork.model.errors import LeaseError, UsageError

AUTO = ("auto", "free")


@dataclass(frozen=True, slots=True)
class FreeDevices:
    """Devices chosen by the memory that is free on them, those with most of it first."""

    min_free: int | str = 0
    """So much must be free: bytes, or a text such as `"20 GiB"`."""
    count: int | None = None
    """How many for all workers together; None for as many as there are workers."""

    @property
    def bytes(self) -> int:
        """What must be free."""
        return parse_size(self.min_free, "min_free") if self.min_free else 0


DevicesWanted: TypeAlias = int | str | Sequence[int | str] | FreeDevices | None


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted, in one form."""

    candidates: tuple[Seen, ...]
    """The devices that may be taken, the best one first."""
    count: int | None
    """How many of them; None for one slot for each worker."""
    named: bool = False
    """Whether these very devices are wanted, and no others."""
    least: int = 0
    """So many bytes must be free."""


def understood(devices: DevicesWanted, there: Sight) -> Wish:
    """What `devices` asks for, of what the caller sees."""
    if isinstance(devices, bool):
        raise UsageError(f"devices={devices!r} is neither a number of devices nor a list of them")
    if isinstance(devices, int):
        devices = FreeDevices(count=devices)
    elif isinstance(devices, str) and devices.strip() in AUTO:
        devices = FreeDevices()
    if isinstance(devices, FreeDevices):
        return _freest(devices, there)
    wanted = choice.chosen(devices or ())
    if not wanted:
        raise UsageError(f"devices={devices!r} names no device")
    named = tuple(_one(device, there) for device in wanted)
    if len({seen.identity for seen in named}) < len(named):
        raise UsageError(f"devices={devices!r} names a device twice")
    return Wish(named, len(named), named=True)


def _freest(devices: FreeDevices, there: Sight) -> Wish:
    if devices.count is not None and (isinstance(devices.count, bool) or devices.count < 1):
        raise UsageError(f"{devices.count!r} devices cannot be leased; ask for one or more")
    least = devices.bytes
    if least and any(seen.free is None for seen in there.devices):
        raise LeaseError(
            "how much memory is free on a device is known from NVML alone, and it does not say; "
            "choose devices by number or by name"
        )
    ordered = sorted(there.devices, key=lambda seen: (-(seen.free or 0), seen.place))
    return Wish(tuple(ordered), devices.count, least=least)


def _one(device: int | str, there: Sight) -> Seen:
    if isinstance(device, int):
        if not 0 <= device < len(there.devices):
            # The variable's own list says it best, as far as its entries mean something.
            callers = None if there.setting is None else listed(there.setting)[: len(there.devices)]
            choice.entry(device, callers if callers is not None else _names(there), there.variable)
        return there.devices[device]
    if "," not in device and not device.startswith("-"):
        for found in (seen for seen in there.devices if device == seen.name):
            return found
        matching = [seen for seen in there.devices if _is(device, seen)]
        if len(matching) == 1:
            return matching[0]
    names = ",".join(_names(there)) or "none"
    raise LeaseError(
        f"device {device} is not among those of this process: it sees {names}"
        + ("" if there.setting is None else f" ({there.variable}={there.setting})")
    )


def _is(device: str, seen: Seen) -> bool:
    """Whether a name is that of a device; a UUID may be shortened, that of an instance may not."""
    if seen.divided:
        return device.lower() == seen.identity
    return same(device, seen.name) or (device.startswith("GPU-") and seen.name.startswith(device))


def _names(there: Sight) -> list[str]:
    return [seen.name for seen in there.devices]
