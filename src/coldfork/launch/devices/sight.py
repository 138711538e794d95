"""The devices that a process sees, each with an identity that all processes of the host agree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coldfork.launch.devices.choice import CUDA, HIP, ROCR, listed, variable
from coldfork.launch.devices.management import Device, Instance, Management
from coldfork.model.errors import LeaseError
from coldfork.model.visibility import visible

ORDER = "CUDA_DEVICE_ORDER"
_DIVIDED = "MIG-"
_WHOLE = "GPU-"


@dataclass(frozen=True, slots=True)
class Seen:
    """One device that a process sees."""

    place: int
    """Its position among the devices that the process sees."""
    name: str
    """The entry in the variable that selects this device: a UUID if that is known."""
    identity: str
    """A name of the device that is the same in every process of this host, whatever the process itself calls
    it.
    """
    total: int | None = None
    free: int | None = None
    """Free bytes, if NVML reports them."""
    divided: bool = False
    """Whether it is an instance of a divided device (MIG)."""
    processes: tuple[int, ...] = ()
    """The processes that compute on the device, as far as NVML shows them."""

    def __str__(self) -> str:
        return f"{self.name} (place {self.place})" if self.name != str(self.place) else self.name


@dataclass(frozen=True, slots=True)
class Sight:
    """The devices that a process sees, and the variable that selects them."""

    variable: str
    devices: tuple[Seen, ...]
    setting: str | None
    """The variable's value; None if it is not set, so that every device is visible."""


def sight(environment: Mapping[str, str], asked: Management, amd: tuple[str, ...] = ()) -> Sight:
    """Return the devices visible in this environment, according to NVML's answers and AMD's identities."""
    name = variable(environment)
    setting = environment.get(name)
    if name == HIP or ROCR in environment or (amd and not asked.devices):
        return _of_amd(environment, name if setting is not None else HIP, amd)
    if setting is not None and not listed(setting):
        return Sight(name, (), setting)
    if setting is None:
        return Sight(name, tuple(_all(asked)), None)
    return Sight(name, tuple(_shown(setting, environment, asked)), setting)


def _all(asked: Management) -> Iterator[Seen]:
    if not asked.devices:
        why = asked.unanswered or asked.nvml_error or "NVML lists none"
        raise LeaseError(
            f"cannot tell which devices there are, because {CUDA} is not set: {why}; name them in {CUDA}, "
            "or start where there are devices"
        )
    place = 0
    for device in asked.devices:
        for seen in _parts(device, place):
            yield seen
            place += 1


def _parts(device: Device, place: int) -> Iterator[Seen]:
    """Yield a device or, because a divided (MIG) device cannot be used as a whole, its instances."""
    if not device.mig:
        yield _whole(device, place)
        return
    for offset, instance in enumerate(device.instances or ()):
        yield _part(instance, place + offset)


def _whole(device: Device, place: int) -> Seen:
    name = device.uuid or str(device.index)
    return Seen(
        place, name, _identity(name), device.memory_total, device.memory_free, processes=device.processes
    )


def _part(instance: Instance, place: int, name: str | None = None) -> Seen:
    return Seen(
        place,
        name or instance.uuid,
        _identity(instance.uuid),
        instance.memory_total,
        instance.memory_free,
        divided=True,
    )


def _shown(setting: str, environment: Mapping[str, str], asked: Management) -> Iterator[Seen]:
    """Yield the devices that CUDA_VISIBLE_DEVICES shows, by the driver's own rules."""
    entries = listed(setting)
    if entries[0].startswith(_DIVIDED):
        yield from _instances(entries, asked)
        return
    if asked.unanswered is not None:
        # Guessing is unsafe: a process that did get an answer may have leased, by its UUID, the device with
        # this number.
        raise LeaseError(f"cannot tell which devices {CUDA}={setting} shows: {asked.unanswered}")
    if not asked.devices:
        yield from _by_name(entries, CUDA)
        return
    by_number = not setting.startswith(_WHOLE)
    if by_number and not _counts_alike(environment, asked):
        raise LeaseError(
            f"{CUDA}={setting} counts devices of several models, which CUDA and NVML count differently; set "
            f"{ORDER}=PCI_BUS_ID, or name the devices by UUID (nvidia-smi -L lists them)"
        )
    for place, ordinal in enumerate(visible(setting, [device.uuid for device in asked.devices])):
        device = asked.devices[ordinal]
        if device.mig:
            named = ",".join(instance.uuid for instance in device.instances or ())
            raise LeaseError(
                f"{CUDA}={setting} shows device {ordinal}, which is divided (MIG), so CUDA uses only its "
                f"first instance; name instances instead: {named or 'it has none'}"
            )
        yield _whole(device, place)


def _instances(entries: list[str], asked: Management) -> Iterator[Seen]:
    """Yield the instances named by these entries, up to the first unknown name; no name may be shortened."""
    known = {
        name: instance
        for device in asked.devices
        for instance in device.instances or ()
        for name in _names(device, instance)
    }
    found: list[str] = []
    for entry in entries:
        if not entry.startswith(_DIVIDED) or (asked.devices and entry not in known):
            break
        found.append(_identity(known[entry].uuid) if entry in known else _identity(entry))
    if len(set(found)) < len(found):
        return
    for place, (entry, identity) in enumerate(zip(entries, found, strict=False)):
        if entry in known:
            yield _part(known[entry], place, entry)
        else:
            yield Seen(place, entry, identity, divided=True)


def _names(device: Device, instance: Instance) -> Iterator[str]:
    """Yield an instance's UUID, and the name that drivers before 470 use for it."""
    yield instance.uuid
    if None not in instance.numbers:
        gpu, compute = instance.numbers
        yield f"{_DIVIDED}{device.uuid}/{gpu}/{compute}"


def _by_name(entries: list[str], variable: str) -> Iterator[Seen]:
    """Yield devices of which only the entries in the variable are known."""
    if len(set(entries)) < len(entries):
        return
    kind = "amd" if variable != CUDA else "cuda"
    for place, entry in enumerate(entries):
        identity = f"{kind}-{int(entry)}" if entry.isdecimal() else _identity(entry)
        yield Seen(place, entry, identity, divided=entry.startswith(_DIVIDED))


def _counts_alike(environment: Mapping[str, str], asked: Management) -> bool:
    """Return whether CUDA numbers devices as NVML does: in bus order, or in any order if all are the same
    model.
    """
    models = {device.name for device in asked.devices}
    return len(models) == 1 or environment.get(ORDER) == "PCI_BUS_ID"


def _of_amd(environment: Mapping[str, str], name: str, amd: tuple[str, ...]) -> Sight:
    """Return AMD's devices: ROCR_VISIBLE_DEVICES hides some from HIP, whose own variable numbers the rest."""
    below, setting = environment.get(ROCR), environment.get(name)
    if below is None and setting is None and not amd:
        raise LeaseError(f"cannot tell which devices there are, because {name} is not set; name them in it")
    left = _left(below, amd)
    if setting is None:
        shown = [(str(at), identity) for at, identity in enumerate(left)]
    else:
        entries = listed(setting)
        shown = [] if len(set(entries)) < len(entries) else list(_counted(entries, left, below, amd))
    devices = (Seen(place, entry, identity) for place, (entry, identity) in enumerate(shown))
    return Sight(name, tuple(devices), setting if setting is not None else below)


def _left(below: str | None, amd: tuple[str, ...]) -> list[str]:
    """Return the identities of the devices that ROCR_VISIBLE_DEVICES leaves visible."""
    if below is None:
        return list(amd)
    entries = listed(below)
    if len(set(entries)) < len(entries):
        return []
    left: list[str] = []
    for entry in entries:
        if entry.isdecimal() and amd:
            if int(entry) >= len(amd):
                break
            left.append(amd[int(entry)])
        else:
            left.append(f"amd-{int(entry)}" if entry.isdecimal() else _identity(entry))
    return left


def _counted(
    entries: list[str], left: list[str], below: str | None, amd: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    known = bool(amd) or below is not None
    for entry in entries:
        if not entry.isdecimal():
            yield entry, _identity(entry)
        elif not known:
            yield entry, f"amd-{int(entry)}"
        elif int(entry) < len(left):
            yield entry, left[int(entry)]
        else:
            return


def _identity(name: str) -> str:
    return name.lower()
