"""Which devices CUDA_VISIBLE_DEVICES lets programs see, as the driver reads it.

The driver reads entries from the left and stops silently at the first invalid one. A device that is named
twice hides all of them. Numbers and UUIDs do not mix: the first entry decides.

- **ok**: it is not set, or every entry names a device.
- **warn**: it hides all devices, which may be intended on a machine that uses only the CPU.
- **fail**: an entry is invalid, names no device of this machine, is listed twice, or is of another kind
  than the first.

It is never skipped. A number that is too large is noticed only if NVML counts the devices.
"""

from __future__ import annotations

import re

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, warn

NAME = "CUDA_VISIBLE_DEVICES"
_UUIDS = ("GPU-", "MIG-")
_NOTHING = frozenset({"", "-1", "NoDevFiles", "none", "void"})


def examine(facts: Facts) -> Answer:
    """Interpret the variable in the same way as the driver."""
    value = facts.variables.get(NAME)
    if value is None:
        return ok(f"{NAME} is not set: programs see every device")
    if value.strip() in _NOTHING:
        return warn(f"{NAME}={value!r} hides every device", f"unset {NAME} where devices are needed")
    entries = [entry.strip() for entry in value.split(",")]
    trouble = _meaningless(entries) or _repeated(entries) or _absent(entries, facts)
    if trouble is None:
        return ok(f"{NAME}={value}: {len(entries)} of the devices")
    at, why = trouble
    seen = "programs see no device" if at == 0 else f"programs see only {', '.join(entries[:at])}"
    return fail(
        f"{NAME}={value}: {why}, so {seen}",
        "name each device once, all by number or all by UUID: nvidia-smi -L lists both",
    )


def _meaningless(entries: list[str]) -> tuple[int, str] | None:
    """Return the first entry that the driver cannot interpret, and the reason."""
    by_uuid = entries[0].startswith(_UUIDS)
    for at, entry in enumerate(entries):
        is_number, is_uuid = _number(entry) is not None, entry.startswith(_UUIDS)
        if not is_number and not is_uuid:
            return at, f"{entry!r} means nothing" if entry else "an entry is empty"
        if is_uuid != by_uuid:
            return at, f"{entry} stands among {'UUIDs' if by_uuid else 'numbers'}"
    return None


def _number(entry: str) -> int | None:
    """Return the number at the beginning of a text, as C's parser does: `1gpu` is 1."""
    found = re.match(r"\+?([0-9]+)", entry, re.ASCII)
    return None if found is None else int(found[1])


def _repeated(entries: list[str]) -> tuple[int, str] | None:
    twice = next((entry for entry in entries if entries.count(entry) > 1), None)
    return None if twice is None else (0, f"{twice} is listed twice")


def _absent(entries: list[str], facts: Facts) -> tuple[int, str] | None:
    devices = facts.management.devices
    if not devices:
        return None
    for at, entry in enumerate(entries):
        number = _number(entry)
        if number is not None and number >= len(devices):
            return at, f"there is no device {number}, the last one is {len(devices) - 1}"
        if entry.startswith("GPU-") and sum(device.uuid.startswith(entry) for device in devices) != 1:
            return at, f"{entry} is not one of the devices"
    return None
