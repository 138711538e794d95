"""Leases: devices that one process takes for its workers, and that no other process of this user takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coldfork.launch.devices import amd, asking
from coldfork.launch.devices.sight import Seen, Sight, sight
from coldfork.launch.lease import mps, place
from coldfork.launch.lease.lease import Lease
from coldfork.launch.lease.takings import Slot, taken
from coldfork.launch.lease.wishes import DevicesWanted, FreeDevices, understood
from coldfork.model.errors import LeaseError, UsageError

__all__ = ["DevicesWanted", "FreeDevices", "Lease", "take"]


def take(
    devices: DevicesWanted, workers: int, environment: Mapping[str, str], *, share: int = 1
) -> list[Lease]:
    """A lease for each worker, on devices that the process with this environment sees; none for None.

    `devices` is a number of devices for all workers together, `"auto"` for one for each worker, a list of
    places or identifiers, or `FreeDevices`. The devices are spread evenly. With `share`, up to so many
    workers of all processes hold one device; without it, only workers of this caller share one, and only
    where there are fewer devices than workers.
    """
    if devices is None:
        return []
    return take_of(
        sight(environment, asking.management(environment), amd.identities()),
        devices,
        workers,
        environment,
        share=share,
    )


def take_of(
    there: Sight, devices: DevicesWanted, workers: int, environment: Mapping[str, str], *, share: int = 1
) -> list[Lease]:
    """A lease for each worker, on some of these devices."""
    if workers < 1 or share < 1:
        raise UsageError("leases are for one worker or more, and a device is shared by one or more")
    if not there.devices:
        raise LeaseError(_blind(there))
    wish = understood(devices, there)
    slots = taken(wish, workers, share, place.folder(environment))
    return _leases(slots, there, environment)


def _blind(there: Sight) -> str:
    if there.setting is None:
        return "there is no device that could be leased here"
    return (
        f"this process sees no device ({there.variable}={there.setting!r}), and its workers are shown "
        "no more; set the variable where devices are to be used"
    )


def _leases(slots: list[tuple[Slot, ...]], there: Sight, environment: Mapping[str, str]) -> list[Lease]:
    """What each worker is told of its slots."""
    crowds = [slot.device for slots_of_one in slots for slot in slots_of_one]
    return [
        Lease(
            device=", ".join(_spoken(slot.device, crowds.count(slot.device)) for slot in mine),
            variables={
                there.variable: ",".join(slot.device.name for slot in mine),
                **mps.variables(environment, [slot.device.place for slot in mine]),
            },
            _give_back=_giver(mine),
        )
        for mine in slots
    ]


def _spoken(device: Seen, crowd: int) -> str:
    return str(device) if crowd == 1 else f"{device}, shared by {crowd} workers"


def _giver(slots: tuple[Slot, ...]) -> Callable[[], None]:
    def give_back() -> None:
        for slot in slots:
            slot.release()

    return give_back
