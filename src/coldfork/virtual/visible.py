"""What CUDA_VISIBLE_DEVICES lets a process see, read as the driver reads it."""

from __future__ import annotations

import re


def uuid_of(ordinal: int) -> str:
    """The UUID of a virtual device, made to differ early, as people abbreviate UUIDs."""
    return f"c01df0{ordinal:02x}-5eed-4000-8000-0000000000{ordinal:02x}"


def visible(setting: str | None, count: int) -> tuple[int, ...]:
    """The ordinals of the devices a process sees, in its order.

    The driver reads from the left and stops at the first entry that names no device; one that is named twice
    makes it show none at all.
    """
    if setting is None:
        return tuple(range(count))
    chosen: list[int] = []
    for entry in setting.split(","):
        ordinal = _ordinal(entry, count)
        if ordinal is None:
            break
        if ordinal in chosen:
            return ()
        chosen.append(ordinal)
    return tuple(chosen)


def _ordinal(entry: str, count: int) -> int | None:
    entry = entry.strip(" \t")
    if entry.startswith("GPU-"):
        matches = [ordinal for ordinal in range(count) if f"GPU-{uuid_of(ordinal)}".startswith(entry)]
        return matches[0] if len(matches) == 1 else None
    # Read as C's strtoul does, so that "1gpu" is 1; MIG devices are not simulated and so never there.
    number = re.match(r"\+?[0-9]+", entry)
    if number is None:
        return None
    ordinal = int(number[0])
    return ordinal if ordinal < count else None
