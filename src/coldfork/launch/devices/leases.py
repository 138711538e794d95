"""Leases: devices that a process reserves for its workers; no other process of this user takes them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial

from coldfork.launch.devices import choice, management, memory_cap
from coldfork.launch.devices.choice import AUTO, DevicesWanted, FreeDevices, Lease, listed, same
from coldfork.launch.devices.locks import folder
from coldfork.launch.devices.sight import Seen, Sight, sight
from coldfork.launch.devices.takings import Slot, Wish, taken
from coldfork.model.errors import LeaseError, UsageError

_LOOK_SECONDS = 0.25


def lease(devices: DevicesWanted = 1, *, share: int = 1, wait: float = 0.0) -> Lease:
    """Take devices that no other lease of this user holds, until the end of the `with` block or `release()`.

    `devices` is a number, a list of positions or identifiers, or `FreeDevices`; only devices that this
    process sees are taken. Up to `share` leases may hold the same device. If no device becomes free within
    `wait` seconds, `LeaseError` says which processes hold them. A program that is to use the devices needs
    the lease's `variables` in its environment: `run_script(..., devices=lease)` puts them there. This
    process's own environment does not change.

    The lease ends when this process ends, in whatever way, even if processes that it started are still
    running.
    """
    if devices is None:
        raise UsageError("devices=None leases nothing; give a number, a list or FreeDevices")
    until = time.monotonic() + wait
    while True:
        try:
            (taken,) = take(devices, 1, os.environ, share=share)
        except LeaseError as error:
            left = until - time.monotonic()
            if not error.may_pass or left <= 0:
                raise
            time.sleep(min(_LOOK_SECONDS, left))
        else:
            return taken


def take(
    devices: DevicesWanted, workers: int, environment: Mapping[str, str], *, share: int = 1
) -> list[Lease]:
    """Make a lease for each worker, on devices visible in this environment; none if `devices` is None.

    `devices` is a number of devices for all workers together, `"auto"` for one for each worker, a list of
    positions or identifiers, or `FreeDevices`. The devices are spread evenly. With `share`, up to that many
    workers, of any process, hold the same device. Without it, only workers of this caller share a device, and
    only if there are fewer devices than workers.
    """
    if devices is None:
        return []
    return take_of(
        sight(environment, management.management(environment), management.amd_identities()),
        devices,
        workers,
        environment,
        share=share,
    )


def take_of(
    there: Sight, devices: DevicesWanted, workers: int, environment: Mapping[str, str], *, share: int = 1
) -> list[Lease]:
    """Make a lease for each worker, on devices chosen from those in `there`."""
    if workers < 1 or share < 1:
        raise UsageError("workers and share have to be 1 or more")
    if not there.devices:
        raise LeaseError(_blind(there))
    wish = understood(devices, there)
    slots = taken(wish, workers, share, folder(environment))
    return _leases(slots, there, environment)


def _blind(there: Sight) -> str:
    if there.setting is None:
        return "there is no device to lease here"
    return (
        f"this process sees no device ({there.variable}={there.setting!r}), so its workers see none "
        "either; change the variable where devices are needed"
    )


def _leases(slots: list[tuple[Slot, ...]], there: Sight, environment: Mapping[str, str]) -> list[Lease]:
    """Turn each worker's slots into a lease."""
    crowds = Counter(slot.device for slots_of_one in slots for slot in slots_of_one)

    def spoken(device: Seen) -> str:
        crowd = crowds[device]
        return str(device) if crowd == 1 else f"{device}, shared by {crowd} workers"

    return [
        Lease(
            device=", ".join(spoken(slot.device) for slot in mine),
            variables={
                there.variable: ",".join(slot.device.name for slot in mine),
                **memory_cap.of_workers(environment, [slot.device.place for slot in mine]),
            },
            _give_back=partial(_give_back, mine),
        )
        for mine in slots
    ]


def _give_back(slots: tuple[Slot, ...]) -> None:
    for slot in slots:
        slot.release()


def understood(devices: DevicesWanted, there: Sight) -> Wish:
    """Return the request for devices as a `Wish`, which counts devices as the caller sees them."""
    if isinstance(devices, bool):
        raise UsageError(f"devices={devices!r} has to be a number or a list of devices")
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
        raise UsageError(f"cannot lease {devices.count!r} devices; ask for one or more")
    least = devices.bytes
    if least and any(seen.free is None for seen in there.devices):
        raise LeaseError(
            "free memory is unknown because NVML does not report it; choose devices by number or by name"
        )
    ordered = sorted(there.devices, key=lambda seen: (-(seen.free or 0), seen.place))
    return Wish(tuple(ordered), devices.count, least=least)


def _one(device: int | str, there: Sight) -> Seen:
    if isinstance(device, int):
        if not 0 <= device < len(there.devices):
            # Prefer entries as they stand in the caller's own variable, because users recognise them.
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
    """Return whether a name stands for a device; a UUID may be shortened, an instance's name may not."""
    if seen.divided:
        return device.lower() == seen.identity
    return same(device, seen.name) or (device.startswith("GPU-") and seen.name.startswith(device))


def _names(there: Sight) -> list[str]:
    return [seen.name for seen in there.devices]
