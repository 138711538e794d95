"""Which devices a process sees with a variable such as CUDA_VISIBLE_DEVICES, by the driver's own rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

_UUID = "GPU-"


def visible(setting: str | None, uuids: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the devices that a process sees, in its order; `uuids` lists all devices.

    The driver reads from the left and stops at the first invalid entry; if a device is named twice, it shows
    none at all. The first entry decides whether all entries are numbers or UUIDs.
    """
    if setting is None:
        return tuple(range(len(uuids)))
    entries = setting.split(",")
    named = _by_uuid(entries, uuids) if setting.startswith(_UUID) else _by_number(entries)
    if len(set(named)) < len(named):
        return ()
    there = [ordinal < len(uuids) for ordinal in named]
    return tuple(named[: there.index(False)] if False in there else named)


def _by_number(entries: list[str]) -> list[int]:
    named = []
    for entry in entries:
        # The driver reads numbers as C's strtoul does: "1gpu" is 1.
        number = re.match(r"\s*([+-]?[0-9]+)", entry, re.ASCII)
        if number is None or int(number[1]) < 0:
            break
        named.append(int(number[1]))
    return named


def _by_uuid(entries: list[str], uuids: Sequence[str]) -> list[int]:
    entries = list(takewhile(lambda entry: entry.startswith(_UUID), entries))
    if len(set(entries)) < len(entries):
        return []
    named = []
    for entry in entries:
        matches = [ordinal for ordinal, uuid in enumerate(uuids) if uuid.startswith(entry)]
        if len(matches) != 1:
            break
        named.append(matches[0])
    return named
