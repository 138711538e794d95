"""What CUDA_VISIBLE_DEVICES lets a process see, read as the driver reads it."""

from __future__ import annotations

import re
from itertools import takewhile

_UUID = "GPU-"


def uuid_of(ordinal: int) -> str:
    """The UUID of a virtual device, made to differ early, as people abbreviate UUIDs."""
    return f"c01df0{ordinal:02x}-5eed-4000-8000-0000000000{ordinal:02x}"


def visible(setting: str | None, count: int) -> tuple[int, ...]:
    """The ordinals of the devices a process sees, in its order.

    The driver reads from the left and stops at the first entry that means nothing; a device that is named
    twice makes it show none at all. The first entry decides whether the others are numbers or UUIDs.
    """
    if setting is None:
        return tuple(range(count))
    entries = setting.split(",")
    named = _by_uuid(entries, count) if setting.startswith(_UUID) else _by_number(entries)
    if len(set(named)) < len(named):
        return ()
    there = [ordinal < count for ordinal in named]
    return tuple(named[: there.index(False)] if False in there else named)


def _by_number(entries: list[str]) -> list[int]:
    named = []
    for entry in entries:
        # As C's strtoul reads, so that "1gpu" is 1.
        number = re.match(r"\s*([+-]?[0-9]+)", entry, re.ASCII)
        if number is None or int(number[1]) < 0:
            break
        named.append(int(number[1]))
    return named


def _by_uuid(entries: list[str], count: int) -> list[int]:
    entries = list(takewhile(lambda entry: entry.startswith(_UUID), entries))
    if len(set(entries)) < len(entries):
        return []
    named = []
    for entry in entries:
        matches = [ordinal for ordinal in range(count) if f"{_UUID}{uuid_of(ordinal)}".startswith(entry)]
        if len(matches) != 1:
            break
        named.append(matches[0])
    return named
