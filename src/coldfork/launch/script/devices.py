"""Chooses a script's devices among those that its caller sees: by place in the caller's list, never more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coldfork.model.errors import UsageError

CUDA = "CUDA_VISIBLE_DEVICES"
HIP = "HIP_VISIBLE_DEVICES"
#: What CUDA and HIP read as "none at all", and no program as "not set".
NONE = "-1"


def chosen(
    devices: Sequence[int | str] | str | None, own: Mapping[str, str | None], base: Mapping[str, str]
) -> dict[str, str]:
    """The variable that lets a script see these devices, and nothing where none were chosen."""
    if devices is None:
        return {}
    # On ROCm both are read; the caller's own choice says which of them counts here.
    name = HIP if HIP in base and CUDA not in base else CUDA
    if own.get(name) is not None:
        raise UsageError(f"devices and env both choose devices ({name}); give one of them")
    wanted = _listed(devices)
    callers = None if name not in base else listed(base[name])
    return {name: ",".join(_one(device, callers, name) for device in wanted) or NONE}


def require_within(own: Mapping[str, str | None], base: Mapping[str, str]) -> None:
    """Refuse an environment that would show a script a device that its caller does not see."""
    for name in (CUDA, HIP):
        if name not in own or name not in base:
            continue
        callers = listed(base[name])
        given = own[name]
        if given is None:
            raise UsageError(
                f"without {name} the script would see devices that this process does not ({base[name]!r})"
            )
        for device in listed(given):
            if not any(_same(device, known) for known in callers):
                raise UsageError(
                    f"{name}={given!r} shows the script device {device}, which this process does not see "
                    f"({base[name]!r}), or not under that name"
                )


def listed(text: str) -> list[str]:
    """The devices that a variable shows: the list ends at the first entry that is none."""
    found: list[str] = []
    for entry in text.split(","):
        device = entry.strip()
        if not device or device.startswith("-"):
            break
        found.append(device)
    return found


def _listed(devices: Sequence[int | str] | str) -> list[int | str]:
    if isinstance(devices, bool | int):
        raise UsageError(
            f"devices={devices!r} could mean one device or so many; give a list, such as [{devices:d}]"
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


def _one(device: int | str, callers: list[str] | None, name: str) -> str:
    if isinstance(device, int):
        if device < 0:
            raise UsageError(f"there is no device {device}; devices are counted from 0")
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
        raise UsageError(f"{device!r} is no device")
    if callers is not None and not any(_same(device, known) for known in callers):
        raise UsageError(
            f"device {device} is not among those of this process: {name} shows {','.join(callers) or 'none'}"
        )
    return device


def _same(device: str, known: str) -> bool:
    """Whether two names are one device; an identifier may be shortened, and the longer is the narrower."""
    return device == known or (not known.isdecimal() and device.startswith(known))
